"""Where the API server is and who we are to it: from a kubeconfig, or from the service account of our own pod."""

from __future__ import annotations

import asyncio
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException, incluster_config, kube_config

from toolcall_operator import errors

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_REREAD = timedelta(minutes=1)
"""How long a token that a file holds is used; the kubelet writes a new one long before the old one's end."""
_PLUGIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Certificates:
    """The certificates of a connection, in PEM: whom we trust, and who we are if that is told by a certificate."""

    authority: bytes = b""
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        """A TLS context for it."""
        context = ssl.create_default_context(cadata=self.authority.decode() or None)
        # Python 3.13 began to demand extensions that certificates of older clusters lack, while RFC 5280 does not:
        # https://github.com/kubernetes-client/python/issues/2394
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate:
            with tempfile.NamedTemporaryFile() as chain:  # the ssl module reads certificates from files alone
                chain.write(self.certificate + b"\n" + self.key)
                chain.flush()
                context.load_cert_chain(chain.name)
        return context


@dataclass(frozen=True, slots=True)
class Credentials:
    """All that a connection to the API server needs; `renew_at` is when to ask for them anew, None is when refused."""

    server: str
    certificates: Certificates
    context: ssl.SSLContext
    authorization: str = field(default="", repr=False)
    server_name: str | None = None
    proxy: str | None = field(default=None, repr=False)
    renew_at: datetime | None = None
    namespace: str = "default"

    def connection_info(self) -> Mapping[str, Any]:
        """The same in the words of `kopf.ConnectionInfo`, which asks for others when it is refused."""
        scheme, _, token = self.authorization.partition(" ")
        return {
            "server": self.server,
            "ca_data": self.certificates.authority or None,
            "insecure": not self.certificates.verify,
            "scheme": scheme or None,
            "token": token or None,
            "certificate_data": self.certificates.certificate or None,
            "private_key_data": self.certificates.key or None,
            "default_namespace": self.namespace,
            "proxy_url": self.proxy,
        }


class Source(Protocol):
    """Where credentials come from."""

    async def load(self, before: Credentials | None = None) -> Credentials:
        """The credentials of now; connections made with `before` go on being used where its certificates still hold.

        Raises:
            Unavailable: there are none that can be used; the text says why.
        """
        ...


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """The account that Kubernetes gives to the pod we run in."""

    environ: Mapping[str, str] = field(repr=False)
    folder: Path = _ACCOUNT

    async def load(self, before: Credentials | None = None) -> Credentials:
        """Read the token and the authority's certificate; see `Source.load`."""
        configuration = _blank()
        try:
            incluster_config.InClusterConfigLoader(  # type: ignore[no-untyped-call] # the library's own gap
                token_filename=str(self.folder / "token"),
                cert_filename=str(self.folder / "ca.crt"),
                environ=self.environ,
            ).load_and_set(configuration)
            namespace = (self.folder / "namespace").read_text(encoding="utf-8").strip()
            return _credentials(configuration, before, namespace, datetime.now(UTC) + _REREAD)
        except (ConfigException, OSError, ValueError) as error:
            raise errors.Unavailable(f"the pod's service account cannot be used: {_why(error)}") from error


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """A kubeconfig: one file, or several as `KUBECONFIG` lists them; `context` is its current one if empty."""

    paths: str
    context: str = ""

    async def load(self, before: Credentials | None = None) -> Credentials:
        """Read the files anew, and run what they tell to run for credentials; see `Source.load`."""
        configuration = _blank()
        if not _any_exists(self.paths):
            raise errors.Unavailable(f"there is no kubeconfig at {errors.foreign(self.paths)}")
        try:
            async with asyncio.timeout(_PLUGIN_SECONDS):
                loader = await kube_config.load_kube_config(  # type: ignore[no-untyped-call] # the library's own gap
                    self.paths, self.context or None, configuration, persist_config=False
                )
            namespace = loader.current_context["context"].get("namespace", "default")
            credentials = _credentials(configuration, before, namespace, _renewal(loader))
        except TimeoutError:
            raise errors.Unavailable(f"the kubeconfig gave no credentials within {_PLUGIN_SECONDS:g} s") from None
        except (ConfigException, OSError, ValueError, TypeError, AttributeError, yaml.YAMLError) as error:
            raise errors.Unavailable(f"the kubeconfig cannot be used: {_why(error)}") from error
        finally:
            # It leaves keys on the disk until the process ends, and for good when the process is killed.
            kube_config._cleanup_temp_files()  # type: ignore[no-untyped-call] # noqa: SLF001 - no public way
        if credentials.server.startswith("https:") and not (credentials.authorization or credentials.certificates.key):
            raise errors.Unavailable("the kubeconfig gives no credentials; a program that it names may have failed")
        return credentials


def source(kubeconfig: str, context: str, environ: Mapping[str, str]) -> Source:
    """What was asked for, else what KUBECONFIG names, else the pod's own account, else the user's kubeconfig."""
    if paths := kubeconfig or environ.get("KUBECONFIG", ""):
        return Kubeconfig(paths, context)
    if environ.get("KUBERNETES_SERVICE_HOST") and not context:
        return ServiceAccount(environ)
    return Kubeconfig(str(Path.home() / ".kube" / "config"), context)


def _any_exists(paths: str) -> bool:
    return any(Path(path).expanduser().exists() for path in paths.split(os.pathsep) if path)


def _blank() -> Configuration:
    # Calling the class copies a process-wide default, if somebody set one.
    blank: Configuration = type.__call__(Configuration)
    return blank


def _credentials(
    configuration: Configuration, before: Credentials | None, namespace: str, renew_at: datetime | None
) -> Credentials:
    certificates = Certificates(
        authority=_content(configuration.ssl_ca_cert),
        certificate=_content(configuration.cert_file),
        key=_content(configuration.key_file),
        verify=bool(configuration.verify_ssl),
    )
    return Credentials(
        server=configuration.host,
        certificates=certificates,
        context=before.context
        if before is not None and before.certificates == certificates
        else certificates.context(),
        authorization=_authorization(configuration.api_key.get("BearerToken", "")),
        server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
        renew_at=renew_at,
        namespace=namespace,
    )


def _authorization(text: str) -> str:
    scheme, _, secret = text.strip().partition(" ")
    return f"{scheme.capitalize()} {secret.strip()}" if secret else ""


def _content(path: str | None) -> bytes:
    return Path(path).read_bytes() if path else b""


def _renewal(loader: kube_config.KubeConfigLoader) -> datetime | None:
    """A while before the end of a plugin's credentials, where it is known."""
    expiry = getattr(loader, "exec_plugin_expiry", None)
    if not isinstance(expiry, datetime):
        return None
    return expiry - max(min((expiry - datetime.now(UTC)) / 5, timedelta(minutes=5)), timedelta())


def _why(error: Exception) -> str:
    return errors.foreign(str(error)) or type(error).__name__
