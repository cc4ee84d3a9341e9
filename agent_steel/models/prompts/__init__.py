"""Prompts: Markdown files with `$names`. Users can replace each file."""

from __future__ import annotations

from pathlib import Path
from string import Template

from agent_steel.proposal import ProposerError
from metalbench.errors import suggestion

PACKAGED = Path(__file__).parent


class Prompts:
    """The packaged prompts; where `folder` has a file of the same name, that one.

    Raise ProposerError for a folder that does not exist, and for a file in it that replaces
    nothing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._files = {path.stem: path for path in sorted(PACKAGED.glob("*.md"))}
        if folder is None:
            return
        if not folder.is_dir():
            raise ProposerError(f"--prompts {folder}: expected a folder, found none")
        for path in sorted(folder.glob("*.md")):
            if path.stem not in self._files:
                hint = suggestion(path.stem, self._files)
                raise ProposerError(f"--prompts: {path} replaces no prompt; {hint}")
            self._files[path.stem] = path

    def fill(self, name: str, /, **values: str) -> str:
        """Prompt `name` with `values` in place of its `$names`; `$$` is a dollar.

        Values are put in as they are, whatever is in them. Raise ProposerError, with file and
        line, for a name that has no value.
        """
        path = self._files[name]
        try:
            template = Template(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise ProposerError(f"prompt {path} cannot be read: {error}") from None
        try:
            return template.substitute(values).strip()
        except KeyError as error:
            unknown = str(error.args[0])
            hint = suggestion(unknown, values)
            where = _line_of(template.template, unknown)
            raise ProposerError(f"prompt {path}:{where}: no value `${unknown}`; {hint}") from None
        except ValueError as error:
            raise ProposerError(
                f"prompt {path}: {error}; a name is `$name` or `${{name}}`, a dollar `$$`"
            ) from None


def _line_of(text: str, name: str) -> int:
    before = min(
        (at for form in (f"${name}", f"${{{name}}}") if (at := text.find(form)) >= 0), default=0
    )
    return text.count("\n", 0, before) + 1
