"""Plan of an audit."""

from collections.abc import Callable
from typing import Literal, Self

from pydantic import model_validator

from askew.plan import AxisPlan, Plan, PromptPlan


class AuditPlan(Plan):
    """Plan of an audit, which labels generated images or a collection of images (TIBET).

    Attributes
    ----------
    concepts : "all" or "axis"
        Answers from which the concepts for CAS and MAD are taken: all answers (as in the paper), or
        only the answers about the axis.
    counterfactuals : "all", "significant" or "none"
        Axes for which counterfactual images are generated: all axes (as in the paper), axes on
        which the baseline images are significantly biased, or none.
    axes_in_depth : tuple of str
        Axes for which counterfactual images are always generated.
    until : "decided" or None
        "decided" adds images until a verdict is reached; `images` is then the maximum number per
        prompt.
    decide : tuple of str
        Axes that must have significant verdicts before askew stops adding images to a prompt. If
        empty, a significant verdict on any axis is enough.
    compared_run, compared_store : str
        Folder of a finished audit that ran this plan on another model, and the store of that audit.
        If these are given, the verdicts test whether the shares differ between the two models.
        Empty if there is no comparison.
    compared_digest : str
        Digest of the finished audit's plan, weights and images.
    """

    method: str = "audit"
    concepts: Literal["all", "axis"] = "all"
    counterfactuals: Literal["all", "significant", "none"] = "all"
    axes_in_depth: tuple[str, ...] = ()
    until: Literal["decided"] | None = None
    decide: tuple[str, ...] = ()
    compared_run: str = ""
    compared_store: str = ""
    compared_digest: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.axes_in_depth and self.counterfactuals == "all":
            raise ValueError(
                "--axes-in-depth needs --counterfactuals significant or none, because "
                "--counterfactuals all already generates the counterfactual images of all axes"
            )
        self._check_names("--axes-in-depth", self.axes_in_depth)
        self._check_names("--decide", self.decide)
        if self.until is None:
            if self.compared_run:
                raise ValueError(
                    "--compared-run needs --until decided, which is not given. To compare two "
                    "finished runs, use `askew compare`"
                )
            if self.decide:
                raise ValueError("--decide needs --until decided, which is not given")
            return self
        if self.counterfactuals != "none" or self.axes_in_depth:
            raise ValueError(
                "--until decided tests only shares. Use --counterfactuals none, and leave "
                "out --axes-in-depth"
            )
        self._check_references()
        return self

    def _check_names(self, option: str, given: tuple[str, ...]) -> None:
        """Raise ValueError if an option names an axis that no prompt has."""
        names = list(dict.fromkeys(axis.name for prompt in self.prompts for axis in prompt.axes))
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(
                f"{option} contains {unknown[0]!r}, but the axes of the plan are {', '.join(names)}"
            )

    def _check_references(self) -> None:
        """Raise ValueError if a reference comes from images, since looks need exact shares."""
        for prompt in self.prompts:
            for axis in prompt.axes:
                if axis.reference_images is not None:
                    raise ValueError(
                        f"the reference of axis {axis.name!r} was estimated from "
                        f"{axis.reference_images} images, but --until decided needs exact shares. "
                        "Give them as --reference AXIS=VALUE:SHARE,…"
                    )

    def deciding(self) -> dict[str, object]:
        """Return the fields that determine the results; omit fields that the plan does not use."""
        fields = super().deciding()
        if self.counterfactuals == "all":
            del fields["counterfactuals"]
        del fields["compared_run"]
        del fields["compared_store"]
        for name in ("axes_in_depth", "until", "decide", "compared_digest"):
            if not fields[name]:
                del fields[name]
        return fields

    def with_counterfactuals(self, wanted: Callable[[PromptPlan, AxisPlan], bool]) -> Self:
        """Return the plan with only the counterfactual prompts of the chosen axes."""
        prompts = []
        for prompt in self.prompts:
            axes = []
            for axis in prompt.axes:
                planned = axis
                if not wanted(prompt, axis):
                    planned = axis.model_copy(update={"counterfactuals": {}})
                axes.append(planned)
            prompts.append(prompt.model_copy(update={"axes": tuple(axes)}))
        return self.model_copy(update={"prompts": tuple(prompts)})
