"""The kinds of objects the operator touches, as the API server's URLs name them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import quote

from toolcall_operator.api.base import GROUP, VERSION


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of object; the group of Kubernetes' own core is empty."""

    group: str
    version: str
    plural: str

    def within(self, namespace: str = "") -> Address:
        """All of them in a namespace, or in the whole cluster."""
        return Address(self, namespace)

    def named(self, name: str, namespace: str = "") -> Address:
        """One of them; a kind without namespaces leaves `namespace` empty."""
        return Address(self, namespace, name)


@dataclass(frozen=True, slots=True)
class Address:
    """An object, a part of one, or (without a name) a collection."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    def part(self, subresource: str) -> Address:
        """A subresource of the object: `status`, `exec`."""
        return replace(self, subresource=subresource)

    @property
    def path(self) -> str:
        """The path of its URL."""
        resource = self.resource
        root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
        namespace = f"/namespaces/{quote(self.namespace, safe='')}" if self.namespace else ""
        name = f"/{quote(self.name, safe='')}" if self.name else ""
        return f"{root}{namespace}/{resource.plural}{name}{f'/{self.subresource}' if self.subresource else ''}"

    @property
    def what(self) -> str:
        """The resource as rights name it: `toolcalls/status`."""
        return f"{self.resource.plural}/{self.subresource}" if self.subresource else self.resource.plural

    def __str__(self) -> str:
        place = "/".join(word for word in (self.namespace, self.name) if word)
        return f"{self.what} {place}" if place else self.what


TOOLCALLS = Resource(GROUP, VERSION, "toolcalls")
SESSIONS = Resource(GROUP, VERSION, "spiceboxsessions")
CLASSES = Resource(GROUP, VERSION, "spiceboxclasses")
TOOLKITS = Resource(GROUP, VERSION, "spiceboxtoolkits")
TOOLSPECS = Resource(GROUP, VERSION, "spiceboxtoolspecs")
AGENT_IDENTITIES = Resource(GROUP, VERSION, "agentidentities")
OURS = (TOOLCALLS, SESSIONS, CLASSES, TOOLKITS, TOOLSPECS, AGENT_IDENTITIES)
PODS = Resource("", "v1", "pods")
SECRETS = Resource("", "v1", "secrets")
CONFIG_MAPS = Resource("", "v1", "configmaps")
NAMESPACES = Resource("", "v1", "namespaces")
EVENTS = Resource("", "v1", "events")
NETWORK_POLICIES = Resource("networking.k8s.io", "v1", "networkpolicies")
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices")
SERVICES = Resource("", "v1", "services")
LEASES = Resource("coordination.k8s.io", "v1", "leases")
DEFINITIONS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
ADMISSION_POLICIES = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")
ADMISSION_BINDINGS = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings")
ACCESS_REVIEWS = Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")
