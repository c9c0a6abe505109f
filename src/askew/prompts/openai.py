"""A language model behind any OpenAI-compatible server (--llm-url).

Such servers are vLLM, Ollama, llama.cpp and hosted services.
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
"""Environment variable with the address of the server."""


class OpenAILLM:
    """One model of one server.

    After a server has rejected a field such as `seed` or the schema, the field is left out.
    The server's address is not part of the fingerprint: a model's name is assumed to mean the same
    model everywhere.

    Parameters
    ----------
    model
        Name of the model on the server.
    server
        The server.
    temperature
        Temperature of sampling.
    max_tokens
        Greatest number of tokens of an answer.
    concurrency
        Number of conversations at once.
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
        """Return the next message of a conversation; see `askew.prompts.llm.LLM`.

        Raises
        ------
        ServerError
            If the server gives no answer.
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
    """Return the prompt generator of `--llm openai/MODEL`.

    Parameters
    ----------
    name
        Name of the model on the server.
    url
        Address of the server; by default $ASKEW_LLM_URL, else OpenAI's.
    cache
        Cache of answers; None for no cache.
    temperature, max_tokens, concurrency
        As `OpenAILLM` takes them.
    timeout
        Seconds to wait for the server.
    budget
        Greatest number of tokens to use; None for no limit.
    axes, axes_on, doubtful_values
        As `LLMWriter` takes them.

    Returns
    -------
    LLMWriter
        The prompt generator.

    Raises
    ------
    UsageError
        For a missing name, a bad address, and impossible settings.
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
