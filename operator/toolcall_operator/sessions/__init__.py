"""The controller of sessions: it makes their sandboxes, and clears them away; and it judges what they are made of."""

from toolcall_operator.sessions.controller import SessionController
from toolcall_operator.sessions.systemtime import SystemTime

__all__ = ["SessionController", "SystemTime"]
