"""Language models on OpenAI-compatible servers (--llm-url).

Examples of such servers are vLLM, Ollama, llama.cpp and hosted services.
"""

import os
from collections.abc import Sequence
from dataclasses import asdict

from askew.hosted import OPENAI_URL, Server, check_concurrency, check_model_name
from askew.prompts.base import AxesOn
from askew.prompts.chat import ChatClient
from askew.prompts.llm import CachingLLM, Completion, CompletionCache, Message, Schema
from askew.prompts.llm_writer import LLMWriter

URL_VARIABLE = "ASKEW_LLM_URL"
"""Environment variable that contains the address of the server."""


class OpenAILLM:
    """A language model on a server.

    If the server rejects a request field such as `seed` or the schema, later requests omit it. The
    server's address is not part of the fingerprint, because askew assumes that a name refers to the
    same model on every server.

    Parameters
    ----------
    model
        Name of the model on the server.
    server
        The server.
    temperature
        Sampling temperature.
    max_tokens
        Maximum number of tokens in an answer.
    concurrency
        Maximum number of simultaneous conversations.
    """

    def __init__(
        self, model: str, server: Server, temperature: float, max_tokens: int, concurrency: int
    ) -> None:
        self.name = f"openai/{model}"
        self.fingerprint = f"openai/{model} temperature={temperature:g} max_tokens={max_tokens}"
        self.concurrency = concurrency
        fields = {"model": model, "temperature": temperature, "max_tokens": max_tokens}
        self._client = ChatClient(server, fields)

    def complete(self, messages: Sequence[Message], schema: Schema | None, seed: int) -> Completion:
        """Return the model's next message in a conversation; see `askew.prompts.llm.LLM`.

        Raises
        ------
        ServerError
            If the server does not answer.
        """
        return self._client.complete([asdict(message) for message in messages], schema, seed)


def create(
    name: str = "",
    *,
    url: str = "",
    cache: CompletionCache | None = None,
    temperature: float = 0.8,
    max_tokens: int = 2048,
    timeout: float = 120.0,
    concurrency: int = 4,
    budget: int | None = None,
    axes: int = 8,
    axes_on: AxesOn = "unstated",
    doubtful_values: bool = False,
) -> LLMWriter:
    """Return the prompt generator for `--llm openai/MODEL`.

    Parameters
    ----------
    name
        Name of the model on the server.
    url
        Address of the server; "" to use $ASKEW_LLM_URL or, if it is not set, OpenAI's address.
    cache
        Cache for answers; None for no cache.
    temperature, max_tokens, concurrency
        Parameters of `OpenAILLM`.
    timeout
        Number of seconds to wait for the server.
    budget
        Maximum number of tokens to use; None for no limit.
    axes, axes_on, doubtful_values
        Parameters `axes`, `on` and `doubtful_values` of `LLMWriter`.

    Returns
    -------
    LLMWriter
        The prompt generator.

    Raises
    ------
    UsageError
        If the name is missing, or the address or a setting is invalid.
    """
    check_model_name("--llm", name)
    check_concurrency(concurrency)
    llm = OpenAILLM(
        model=name,
        server=Server(url or os.environ.get(URL_VARIABLE) or OPENAI_URL, timeout=timeout),
        temperature=temperature,
        max_tokens=max_tokens,
        concurrency=concurrency,
    )
    return LLMWriter(
        CachingLLM(llm, cache, budget),
        axes=axes,
        on=axes_on,
        doubtful_values=doubtful_values,
    )
