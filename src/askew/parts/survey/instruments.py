"""Load and identify the instruments of a plan, and warn about unsuitable instruments."""

import re
from collections.abc import Iterable, Mapping, Sequence

from askew import registry
from askew.errors import UsageError
from askew.findings import Identity, Instruments
from askew.measure.base import VQA, Embedder, SampledLabels
from askew.measure.labels import LabelVQA
from askew.models.base import Collection, Model, Setting
from askew.models.folder import FolderCollection
from askew.pages.words import shorten
from askew.plan import Plan

LABELS = "labels"
STUDY = "study"
"""Name of the provider for labels that raters assigned in a study."""

STUDIO = "studio"
MOST_NAMED = 12
"""Maximum number of words listed in a warning."""

Source = Model | Collection
SettingsByInstrument = dict[str, dict[str, Setting]]


def load_instruments(
    names: Sequence[str],
    source: Source,
    aliases: Mapping[str, str],
    values: Mapping[str, Sequence[str]],
    settings: Mapping[str, Setting] | None = None,
) -> dict[str, VQA]:
    """Load the instruments of a plan, and return them, keyed by name.

    Parameters
    ----------
    names
        Values of `--vqa`. The name "labels" stands for the human labels of the collection.
    source
        Model or collection from which the images come.
    aliases, values
        Replacements for human labels (`aliases`), and the values of the axes.
    settings
        Settings of the instruments. If there are several instruments, keys have the form
        PROVIDER:SETTING.

    Raises
    ------
    UsageError
        If a setting cannot be assigned to an instrument, or if `labels` is used with a model.
    """
    of_instruments = _settings_by_instrument(names, settings or {})
    if LABELS in names and not isinstance(source, Collection):
        raise UsageError(
            "--vqa labels needs images with human labels. Give their folder with --model "
            "folder/PATH"
        )
    of_labels = {"collection": source, "aliases": aliases, "values": values or None}
    loaded = {name: registry.vqa(name, **of_instruments.get(name, of_labels)) for name in names}
    _check_first(loaded)
    return loaded


def _check_first(instruments: Mapping[str, VQA]) -> None:
    """Raise UsageError if the first instrument labels only an unrepresentative image sample."""
    first = next(iter(instruments.values()), None)
    if isinstance(first, SampledLabels) and first.sample_warning:
        others = [name for name in instruments if not is_by_people(name)]
        order = ",".join([*(others or ["INSTRUMENT"]), first.name])
        raise UsageError(
            f"{first.name} cannot be the first instrument: {first.sample_warning}. Put another "
            f"instrument first: --vqa {order}"
        )


def _settings_by_instrument(
    names: Sequence[str], settings: Mapping[str, Setting]
) -> SettingsByInstrument:
    """Assign each setting to the instruments to which it applies. Human labels have no settings."""
    assigned: SettingsByInstrument = {name: {} for name in names if name != LABELS}
    for key, value in settings.items():
        provider, colon, setting = key.rpartition(":")
        owners = [name for name in assigned if not colon or _provider(name) == provider]
        if not owners or (len(owners) > 1 and not colon):
            known = ", ".join(f"{_provider(name)}:{setting}" for name in assigned)
            raise UsageError(
                f"--vqa-arg {key}={value} does not state which instrument it sets. "
                f"Known: {known or 'none, because labels have no settings'}"
            )
        for name in owners:
            assigned[name][setting] = value
    return assigned


def is_by_people(name: str) -> bool:
    """Check whether an instrument's labels come from people."""
    return name == LABELS or _provider(name) == STUDY


def _provider(name: str) -> str:
    return name.partition("/")[0]


def instruments_of(plan: Plan, source: Source) -> dict[str, VQA]:
    """Load the instruments of a plan, and return them, keyed by name.

    Raises UsageError for unknown names.
    """
    return load_instruments(
        names=plan.vqa,
        source=source,
        aliases=plan.aliases,
        values=plan.values,
        settings=plan.vqa_args,
    )


def captioner_of(instruments: Iterable[str]) -> str | None:
    """Return the first instrument that can describe images. Labels from people cannot."""
    return next((name for name in instruments if not is_by_people(name)), None)


def identity_of(source: Source, settings: Mapping[str, Setting]) -> Identity:
    """Return the name, revision and settings of a source of images.

    If the source is a collection, `settings` are its settings.
    """
    of_source = source.settings if isinstance(source, Model) else settings
    return Identity(source.name, source.revision, dict(of_source))


def fingerprints(instruments: Mapping[str, VQA], embedder: Embedder | None = None) -> Instruments:
    """Return the fingerprints of a run's instruments, keyed by name."""
    of_vqa = {name: vqa.fingerprint for name, vqa in instruments.items()}
    of_embedder = None if embedder is None else {embedder.name: embedder.fingerprint}
    return Instruments(of_vqa, of_embedder)


def source_warnings(
    texts: Sequence[str], source: Source, instruments: Mapping[str, VQA]
) -> list[str]:
    """Return warnings about words that a model ignores, or about a collection and its labels."""
    if isinstance(source, Model):
        return unknown_words(source, texts)
    warnings: list[str] = []
    for speaker in (source, *instruments.values()):
        if isinstance(speaker, FolderCollection | LabelVQA):
            warnings += speaker.warnings
    return warnings


def unknown_words(model: Model, texts: Sequence[str]) -> list[str]:
    """Return warnings about words that a model does not know or rarely renders."""
    reason = "ignores these words because it does not know them"
    if cuts_prompts(model):
        reason = "cuts these words off the end of prompts that are longer than it can receive"
    checks = {reason: model.unknown_words}
    if hasattr(model, "unheard_words"):
        checks["renders these words in fewer than 90 % of images"] = model.unheard_words
    warnings = []
    for predicate, words_of in checks.items():
        words_by_text = {text: words for text in texts for words in [words_of(text)] if words}
        if words_by_text:
            warnings.append(_words_warning(model.name, predicate, words_by_text))
    return warnings


def cuts_prompts(model: Model) -> bool:
    """Check whether a model ignores words because it cuts off the end of long prompts."""
    return bool(getattr(model, "cuts_prompts", False))


def _words_warning(model: str, predicate: str, words_by_text: Mapping[str, Sequence[str]]) -> str:
    unknown = sorted({word for words in words_by_text.values() for word in words})
    listed = ", ".join(repr(shorten(word, 40)) for word in unknown[:MOST_NAMED])
    if len(unknown) > MOST_NAMED:
        listed += f" and {len(unknown) - MOST_NAMED} more"
    first_prompt = shorten(next(iter(words_by_text)), 100)
    return f"{model} {predicate}: {listed} (first in {first_prompt!r})"


STUDIO_WARNINGS = {
    "vqa": (
        "the studio VQA was trained only on studio drawings, so its labels for {} are meaningless"
    ),
    "embedder": (
        "the studio embedder was trained only on studio drawings, so scores from its embeddings "
        "of {} are meaningless"
    ),
}
"""Warnings, keyed by the kind of instrument."""


SERVED = "openai/"
"""Prefix in the names of models that `askew serve-model` may serve."""


def studio_warnings(
    makers: Iterable[str], vqa: Iterable[str] | None = None, embedder: Iterable[str] | None = None
) -> list[str]:
    """Return a warning for each kind of studio instrument that labels images from other sources.

    Parameters
    ----------
    makers
        Names of the models and collections from which images come.
    vqa, embedder
        Names of instruments.
    """
    others = list(dict.fromkeys(name for name in makers if not is_studio(name)))
    if not others:
        return []
    images = f"images by {', '.join(others)}"
    warnings = []
    for kind, names in {"vqa": vqa, "embedder": embedder}.items():
        if any(is_studio(name) for name in names or ()):
            warning = STUDIO_WARNINGS[kind].format(images)
            warnings.append(
                f"{warning}, unless the images are studio drawings. Choose another with --{kind}"
            )
    return warnings


def is_studio(name: str) -> bool:
    """Check whether a model or an instrument belongs to the studio, such as studio/balanced.

    A studio model behind a server, such as openai/studio/planted, also belongs to the studio.
    """
    return re.split("[/ ]", name.removeprefix(SERVED), maxsplit=1)[0] == STUDIO
