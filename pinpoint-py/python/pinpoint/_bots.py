"""Bot configurations: the machines that build and run benchmarks, by name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from . import _pinpoint
from ._results import table


class Swarming(NamedTuple):
    """Machines of a Swarming server, with builds from Buildbucket.

    Attributes
    ----------
    browser, bucket, builder, swarming_server : str
        The browser for the benchmark; the Buildbucket bucket and builder; a URL.
    dimensions : tuple of (str, str)
        The required properties of a machine.
    extra_test_args : tuple of str
        Arguments of all its runs, before those of a job.
    """

    browser: str
    bucket: str
    builder: str
    swarming_server: str
    dimensions: tuple[tuple[str, str], ...]
    extra_test_args: tuple[str, ...] = ()


class Bot(NamedTuple):
    """A bot, found by its name or an alias.

    Attributes
    ----------
    name, configured_as : str
        The name asked for, and the one under which it is configured.
    set : str
        Its visibility: ``"external"`` (everyone) or ``"internal"``.
    out_of_resources : bool
        It takes no jobs for now.
    repository : str or None
        The repository to build; None where each job names its own.
    workers : str, tuple of str, or Swarming
        ``"local"`` (this machine), the names of a pool's machines, or Swarming.
    no_culprit_finder : bool
        It takes no culprit finders for now.
    """

    name: str
    configured_as: str
    set: Literal["external", "internal"]
    out_of_resources: bool
    repository: str | None
    workers: Literal["local"] | tuple[str, ...] | Swarming
    no_culprit_finder: bool = False

    @classmethod
    def _of(cls, document: dict[str, Any]) -> Bot:
        told = document["workers"]
        workers: Any = told
        if isinstance(told, dict) and "machines" in told:
            workers = tuple(told["machines"])
        elif isinstance(told, dict):
            swarming = dict(told["swarming"])
            swarming["dimensions"] = tuple((it["key"], it["value"]) for it in swarming["dimensions"])
            swarming["extra_test_args"] = tuple(swarming.get("extra_test_args", ()))
            workers = Swarming(**swarming)
        return cls(**{**document, "workers": workers})

    def _repr_html_(self) -> str:
        return table(self.name, self._asdict().items())


class Bots(Mapping[str, Bot]):
    """All bots and aliases, by name.

    Examples
    --------
    >>> import pinpoint
    >>> pinpoint.Bots.builtin()["local"].workers
    'local'
    """

    def __init__(self, configs: _pinpoint.BotConfigs) -> None:
        self._configs = configs
        self._bots = {it["name"]: Bot._of(it) for it in json.loads(configs.bots())}

    @classmethod
    def builtin(cls) -> Bots:
        """The published bots of Chromium's laboratory, and ``local``."""
        return cls(_pinpoint.BotConfigs())

    @classmethod
    def read(cls, *files: str | os.PathLike[str]) -> Bots:
        """The bots of these files, TOML or JSON.

        Raises
        ------
        ValueError
            All errors in the files, with their places.
        OSError
            A file that cannot be read.
        """
        return cls(_pinpoint.BotConfigs([(str(file), Path(file).read_text()) for file in files]))

    def external(self) -> Bots:
        """Only the external bots, with their descriptions."""
        return Bots(self._configs.external())

    def target(self, bot: str, benchmark: str) -> str:
        """The build target of a benchmark on a bot; KeyError for an unknown bot."""
        return self._configs.target(bot, benchmark)

    def benchmarks(self) -> dict[str, dict[str, list[str]]]:
        """The ``stories`` and ``bots`` of each benchmark, by its name."""
        found: dict[str, dict[str, list[str]]] = json.loads(self._configs.benchmarks())
        return found

    def to_json(self) -> str:
        """All of them as JSON, as ``pinpoint bots list --output json`` prints them."""
        return self._configs.bots()

    def __getitem__(self, name: str) -> Bot:
        if name in self._bots:
            return self._bots[name]
        # Its error suggests similar names.
        return Bot._of(json.loads(self._configs.bot(name)))

    def __iter__(self) -> Iterator[str]:
        return iter(self._bots)

    def __len__(self) -> int:
        return len(self._bots)

    def __repr__(self) -> str:
        return f"<{len(self)} bots>"
