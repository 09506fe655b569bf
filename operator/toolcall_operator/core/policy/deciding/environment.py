"""Variables that steer programs: which code they run, whom they trust, where they look; not what they are asked to do.

Some names that begin like these only configure (PYTHONUNBUFFERED). A toolkit whose program needs one lists it; nobody
has to keep up with what the next version of an interpreter reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain


@dataclass(frozen=True, slots=True)
class _Steering:
    """Names of one kind, in upper case and separated by blanks: whole ones, how others begin, how others end."""

    names: str = ""
    beginnings: str = ""
    ends: str = ""


_STEERING = (
    # The dynamic loader and the allocator load, trace to and are tuned by whatever these name.
    _Steering(beginnings="LD_ DYLD_ MALLOC_ GLIBC_", ends="_PRELOAD"),
    # The C library loads modules for character sets and parses files for messages, terminals and time zones; LANGUAGE
    # names folders below those of the messages.
    _Steering("GCONV_PATH GETCONF_DIR LOCPATH NLSPATH TZDIR TERMCAP LANGUAGE", beginnings="TERMINFO"),
    # It turns names into addresses as these say.
    _Steering("HOSTALIASES LOCALDOMAIN RES_OPTIONS", beginnings="RESOLV_"),
    # getopt stops at the first argument, so that another command line is read than the one that was judged.
    _Steering("POSIXLY_CORRECT _POSIX2_VERSION"),
    # What shells run before their script, how they split words, and what their prompts and traces execute.
    _Steering(
        "ENV BASHOPTS SHELLOPTS SHELL IFS PS0 PS1 PS2 PS3 PS4 PROMPT_COMMAND CDPATH GLOBIGNORE EXECIGNORE ZDOTDIR "
        "INPUTRC FCEDIT MAILCHECK",
        beginnings="BASH_ KSH_ ZSH_",
    ),
    # Where programs look for code, and in whose home they look for settings.
    _Steering("HOME USERPROFILE TMPDIR TMP TEMP PWD", beginnings="XDG_", ends="PATH"),
    # Modules, start-up files and agents of interpreters and run times.
    _Steering(
        "CLASSPATH NODE_REPL_EXTERNAL_MODULE NODE_V8_COVERAGE NODE_REDIRECT_WARNINGS NODE_ICU_DATA VIRTUAL_ENV GODEBUG "
        "ELECTRON_RUN_AS_NODE COVERAGE_PROCESS_START",
        beginnings="PYTHON PERL RUBY GEM_ BUNDLE_ LUA_ PHP TCL JULIA_ GUILE_ JAVA_ JDK_ _JAVA_ DOTNET_ CORECLR_ "
        "COMPLUS_ MONO_ ERL_ ELIXIR_ R_ DENO_ BUN_",
    ),
    # Arguments that stand in no command line.
    _Steering(
        "GZIP BZIP BZIP2 XZ_OPT XZ_DEFAULTS ZIPOPT UNZIP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS ASFLAGS GOFLAGS MAKEFLAGS "
        "MFLAGS RUSTFLAGS RUSTDOCFLAGS ANT_ARGS PGOPTIONS TAPE",
        beginnings="TF_CLI_",
        ends="_OPTIONS _OPTS _CLI_ARGS",
    ),
    # Package managers and build tools run what their settings name, and fetch code from where they say.
    _Steering(
        "CC CXX CPP MAKE MAKEFILES GOENV GOROOT GOTOOLCHAIN GOPROXY GOSUMDB GONOSUMDB GOINSECURE "
        "CCACHE_PREFIX CCACHE_COMPILER",
        beginnings="NPM_CONFIG_ YARN_ PNPM_ PIP_ UV_ POETRY_ CONDA_ CARGO_ RUSTUP_ RUSTC MAVEN_ GRADLE_ ANSIBLE_ "
        "CMAKE_ GCC_ QEMU_",
    ),
    # Libraries load modules by these in whatever program they are; the address of a D-Bus may be a program to run.
    _Steering(
        "OMP_TOOL_LIBRARIES OCL_ICD_VENDORS VK_ICD_FILENAMES GVBINDIR",
        beginnings="GTK_ GDK_ GIO_ GST_ QT_ SASL_ LDAP ODBC DBUS_",
    ),
    # These write files wherever they say; one of them the keys of every TLS connection.
    _Steering("HEAPPROFILE CPUPROFILE HISTFILE SQLITE_HISTORY", beginnings="SSLKEYLOG GCOV_ LLVM_PROFILE_"),
    # Through whom programs connect.
    _Steering("SOCKS_SERVER RSYNC_CONNECT_PROG NODE_USE_ENV_PROXY", ends="_PROXY _PROXY_URL"),
    # Whom they trust.
    _Steering(
        "NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED PGSSLMODE PGSSLROOTCERT GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        beginnings="SSL_CERT_ OPENSSL_ GNUTLS_ NSS_ P11_ KRB5",
        ends="_CA_BUNDLE _CA_CERT _CA_CERTS _CA_FILE _CACERT _CAINFO _CERT_FILE _CERT_DIR",
    ),
    # git runs what these name (GIT_SSH, GIT_CONFIG_*, GIT_EXTERNAL_DIFF), as do other programs that call for help.
    _Steering(
        "EDITOR VISUAL BROWSER EXINIT RSH LV FZF_DEFAULT_COMMAND",
        beginnings="GIT_ SSH_ CVS_ SVN_ RSYNC_ LESS MORE VIM NVIM_ EMACS GROFF_",
        ends="PAGER _EDITOR _BROWSER _ASKPASS _RSH",
    ),
    # Files of settings: those of kubectl, docker and clouds name programs to run.
    _Steering(
        "NETRC WGETRC GNUPGHOME PGSERVICEFILE PGSYSCONFDIR PGPASSFILE TF_DATA_DIR TF_PLUGIN_CACHE_DIR AWS_PROFILE "
        "AWS_SHARED_CREDENTIALS_FILE AWS_WEB_IDENTITY_TOKEN_FILE GOOGLE_APPLICATION_CREDENTIALS",
        beginnings="KUBE HELM_ DOCKER_ CONTAINERS_ CLOUDSDK_ CURL_ PSQL MYSQL_",
        ends="_CONFIG _CONFIG_FILE _CONFIG_DIR _CONFIG_HOME RCFILE",
    ),
    # Whom a client talks to, and so who is shown its token; GH_DEBUG, AWS_REGION and the like only configure.
    _Steering(
        "GH_HOST GH_REPO GLAB_HOST GITLAB_HOST AWS_ROLE_ARN PGHOST PGHOSTADDR CONTAINER_HOST",
        beginnings="VAULT_ BUILDKIT_ AWS_ENDPOINT_URL AWS_CONTAINER_ AWS_EC2_METADATA_",
        ends="_BASE_URL _ENDPOINT",
    ),
)

_NAMES = frozenset(chain.from_iterable(each.names.split() for each in _STEERING))
_BEGINNINGS = tuple(chain.from_iterable(each.beginnings.split() for each in _STEERING))
_ENDS = tuple(chain.from_iterable(each.ends.split() for each in _STEERING))


def forbidden(name: str) -> bool:
    """Whether a variable of this name steers programs, so that only a toolkit may let calls and sessions set it.

    Upper and lower case are the same here: `http_proxy` and `npm_config_registry` do what the shouted ones do.
    """
    upper = name.upper()
    return upper in _NAMES or upper.startswith(_BEGINNINGS) or upper.endswith(_ENDS)
