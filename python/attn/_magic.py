"""The cell magic %%attn."""
from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from ._core import AttnError
from ._lessons import check, explain

_ACTIONS = {"check": check, "explain": explain}


@magic_arguments()
@argument("action", nargs="?", choices=_ACTIONS, default="check", help="check the numbers, or explain the steps; default: check")
@argument("--lang", choices=("en", "ja"), default="en", help="the language that the page opens in")
@argument("--precision", type=int, default=4, help="decimal places")
def attn(line, cell):
    """Checks or explains the cell's text, a worked example of attention. The result is also in _.

    %%attn check
    %%attn explain --lang ja
    """
    options = parse_argstring(attn, line)
    try:
        return _ACTIONS[options.action](cell + "\n", lang=options.lang, precision=options.precision)
    except AttnError as error:
        raise UsageError(str(error)) from None
