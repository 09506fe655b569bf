"""The kinds of objects that are judged as such: the status of each says whether anything can be made of it."""

from toolcall_operator.api.agentidentity import AgentIdentity, AgentIdentityStatus
from toolcall_operator.api.spiceboxclass import SpiceboxClass, SpiceboxClassStatus
from toolcall_operator.api.spiceboxtoolkit import SpiceboxToolkit, SpiceboxToolkitStatus
from toolcall_operator.api.spiceboxtoolspec import SpiceboxToolspec, SpiceboxToolspecStatus

Judgeable = SpiceboxClass | SpiceboxToolkit | SpiceboxToolspec | AgentIdentity
JudgedStatus = SpiceboxClassStatus | SpiceboxToolkitStatus | SpiceboxToolspecStatus | AgentIdentityStatus
