"""What a coding agent's tool does, told from its name."""

import re
from typing import Literal

ToolEffect = Literal["edit", "write", "shell", "read", "other"]


def _effects(table: dict[ToolEffect, str]) -> dict[str, ToolEffect]:
    return {name: effect for effect, names in table.items() for name in names.split()}


_TOOLS = _effects(
    {
        "edit": """
            edit multiedit notebookedit str_replace str_replace_editor str_replace_based_edit_tool
            search_replace replace replace_in_file replace_string_in_file multi_replace_string_in_file
            edit_file edit_files edit_notebook_file apply_patch apply_diff patch insert_edit_into_file
            insert_content update_file
        """,
        "write": """
            write write_file write_to_file create create_file create_new_jupyter_notebook save_file
        """,
        "shell": """
            bash shell sh exec exec_command local_shell container.exec shell_command unified_exec
            run_shell_command run_in_terminal run_terminal_cmd run_command execute_command powershell
            terminal run_terminal_command run_command_in_terminal
        """,
        "read": """
            read glob grep ls notebookread read_file read_many_files read_multiple_files list_directory
            list_dir list_files search_file_content grep_search glob_search search_files file_search
            codebase_search semantic_search code_search get_errors webfetch websearch web_fetch web_search
            fetch_webpage google_web_search view view_image get_file_contents read_notebook_cell_output
            test_search bashoutput taskoutput get_terminal_output find_files toolsearch lsp
            get_changed_files readfile readfolder findfiles searchtext get_file
        """,
    }
)
"""Lower-cased names of the tools of Claude Code, Codex, Gemini and Copilot."""

_VERBS = _effects(
    {
        "edit": "edit replace patch update modify insert rename move delete remove",
        "write": "write create save append",
        "shell": "exec execute shell bash terminal",
        "read": """
            read get list search find query fetch view show describe lookup resolve inspect browse
        """,
    }
)
# A change counts only beside one of these: `create_issue` changes nothing in the code.
_OF_FILES = frozenset(
    {"file", "files", "text", "symbol", "content", "contents", "body", "lines", "line", "code", "notebook"}
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NAME_CHARACTERS_MAX = 200


def tool_effect(tool_name: str) -> ToolEffect:
    """What a tool does; `other` (not mutating) where its name says nothing.

    An MCP tool (`mcp__server__verb_noun`) is told by the verb it begins with.
    """
    name = tool_name[:_NAME_CHARACTERS_MAX]
    known = _TOOLS.get(name.lower())
    if known is not None:
        return known
    return _mcp_effect(name.rsplit("__", 1)[-1]) if name.startswith("mcp__") else "other"


def _mcp_effect(tool: str) -> ToolEffect:
    known = _TOOLS.get(tool.lower())
    if known is not None:
        return known
    words = [word.lower() for word in _WORD.findall(tool)]
    effect: ToolEffect = _VERBS.get(words[0], "other") if words else "other"
    if effect in ("edit", "write") and _OF_FILES.isdisjoint(words):
        return "other"
    return effect
