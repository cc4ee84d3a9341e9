"""The Welder: a new task and its kernel from a description, written by a model and checked here."""

from agent_steel.welding.command import welder_command
from agent_steel.welding.destination import Destination
from agent_steel.welding.order import Order, WelderError
from agent_steel.welding.weld import Welded, weld

__all__ = ["Destination", "Order", "Welded", "WelderError", "weld", "welder_command"]
