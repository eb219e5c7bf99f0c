"""A client of Siglum's gateway. `Gateway` has a method for each operation, `models` the types, `problems` the errors."""

from siglum_client import models, problems
from siglum_client._drive import Drive, Turn
from siglum_client._gateway import Gateway
from siglum_client._problem import ProblemError, SiglumError, Unreachable

__all__ = ["Drive", "Gateway", "ProblemError", "SiglumError", "Turn", "Unreachable", "models", "problems"]
