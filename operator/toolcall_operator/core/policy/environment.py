"""Variables that steer programs: which code they load and run, whom they trust, where they look; not what they do."""

from __future__ import annotations

_LOADERS = (
    # The dynamic loaders of Linux and macOS load any file these name; tunables and hooks of the allocator come first.
    "LD_",
    "DYLD_",
    "MALLOC_",
    "GLIBC_",
    "GCONV_",
    # Where the C library finds character sets, messages, terminals and time zones: some hold code, all are parsed.
    "TERMINFO",
    "TERMCAP",
)
_C_LIBRARY = (
    "LOCPATH",
    "NLSPATH",
    "TZDIR",
    "GETCONF_DIR",
    # How names become addresses.
    "HOSTALIASES",
    "LOCALDOMAIN",
    "RES_OPTIONS",
    "RESOLV_HOST_CONF",
    "RESOLV_ADD_TRIM_DOMAINS",
    "RESOLV_OVERRIDE_TRIM_DOMAINS",
    # Whether options may follow arguments: with it a program reads another command line than the one that was judged.
    "POSIXLY_CORRECT",
    "_POSIX2_VERSION",
)
_SHELLS = (
    # What shells run before their script, how they split words, and what prompts and traces execute.
    "BASH_",
    "KSH_",
    "ZSH_",
)
_SHELL_NAMES = (
    "ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "SHELL",
    "IFS",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PROMPT_COMMAND",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "ZDOTDIR",
    "INPUTRC",
    "FCEDIT",
    "MAILCHECK",
)
_INTERPRETERS = (
    # Modules, start-up files and options of interpreters and run times. Some of these only configure (PYTHONUNBUFFERED);
    # a toolkit whose program needs one lists it, and nobody has to know which new ones do more.
    "PYTHON",
    "PERL",
    "RUBY",
    "GEM_",
    "BUNDLE_",
    "LUA_",
    "PHP",
    "TCL",
    "JULIA_",
    "GUILE_",
    "JAVA_",
    "JDK_",
    "_JAVA_",
    "DOTNET_",
    "CORECLR_",
    "COMPLUS_",
    "MONO_",
    "ERL_",
    "ELIXIR_",
    "R_",
    "DENO_",
    "BUN_",
)
_RUN_TIMES = (
    "CLASSPATH",
    "NODE_OPTIONS",
    "NODE_REPL_EXTERNAL_MODULE",
    "NODE_V8_COVERAGE",
    "NODE_REDIRECT_WARNINGS",
    "NODE_ICU_DATA",
    "NODE_USE_ENV_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "NODE_TLS_REJECT_UNAUTHORIZED",
    "AWKLIBPATH",
    "GODEBUG",
    "GOENV",
    "GOROOT",
    "GOTOOLCHAIN",
    "GOPROXY",
    "GOSUMDB",
    "GONOSUMDB",
    "GOINSECURE",
    "VIRTUAL_ENV",
)
_BUILDERS = (
    # Package managers and build tools run what their settings name.
    "NPM_CONFIG_",
    "YARN_",
    "PNPM_",
    "PIP_",
    "UV_",
    "POETRY_",
    "CONDA_",
    "CARGO_",
    "RUSTUP_",
    "RUSTC",
    "MAVEN_",
    "GRADLE_",
    "ANSIBLE_",
    "CMAKE_",
    "GCC_",
    "QEMU_",
)
_PLUGINS = (
    # Libraries that load modules by a variable, whatever program they are in.
    "GTK_",
    "GDK_",
    "GIO_",
    "GST_",
    "QT_",
    "OPENSSL_",
    "GNUTLS_",
    "NSS_",
    "P11_",
    "KRB5",
    "SASL_",
    "LDAP",
    "ODBC",
    "DBUS_",  # an address may name a program to be run
    "GCOV_",  # and these two name files to be written
    "LLVM_PROFILE_",
    "SSLKEYLOG",
)
_GIT_AND_SHELLS_AFAR = (
    # git runs what these name (GIT_SSH, GIT_CONFIG_*, GIT_EXTERNAL_DIFF); so do other programs with their helpers.
    "GIT_",
    "SSH_",
    "CVS_",
    "SVN_",
    "RSYNC_",
    "LESS",
    "MORE",
    "VIM",
    "NVIM_",
    "EMACS",
    "GROFF_",
)
_HELPERS = (
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "EXINIT",
    "GNUPGHOME",
    "RIPGREP_CONFIG_PATH",
    "FZF_DEFAULT_COMMAND",
    "TAR_OPTIONS",
    "RSH",
    "GZIP",
    "BZIP2",
    "BZIP",
    "XZ_OPT",
    "XZ_DEFAULTS",
    "ZSTD_CLEVEL",
    "ZIPOPT",
    "UNZIP",
    "LV",
    "CPP",
    "CC",
    "CXX",
    "MAKE",
    "MAKEFILES",
)
_CLIENTS = (
    # Whom a client talks to, as whom, and by which file: kubeconfigs, docker and cloud settings name programs to run,
    # and a token goes to whoever the variable names. GH_DEBUG, NO_COLOR, AWS_REGION and the like only configure.
    "KUBE",
    "HELM_",
    "DOCKER_",
    "BUILDKIT_",
    "CONTAINERS_",
    "AWS_ENDPOINT_URL",
    "AWS_CONTAINER_",
    "AWS_EC2_METADATA_",
    "CLOUDSDK_",
    "TF_CLI_",
    "VAULT_",
    "CURL_",
    "PSQL",
    "MYSQL_",
)
_CLIENT_NAMES = (
    "GH_HOST",
    "GH_REPO",
    "GH_PATH",
    "GLAB_HOST",
    "GITLAB_HOST",
    "AWS_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "TF_DATA_DIR",
    "TF_PLUGIN_CACHE_DIR",
    "WGETRC",
    "PGSERVICEFILE",
    "PGSYSCONFDIR",
    "PGPASSFILE",
    "PGSSLMODE",
    "PGSSLROOTCERT",
    "REQUESTS_CA_BUNDLE",
    "HTTPLIB2_CA_CERTS",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "SOCKS_SERVER",
    "NETRC",
)
_PLACES = (
    # Where programs look for their settings. TMPDIR is where they trust what they find, too.
    "XDG_",
)
_PLACE_NAMES = ("HOME", "USERPROFILE", "TMPDIR", "TMP", "TEMP", "PWD", "CODESET")
_ENDS = (
    "PATH",  # PATH, PYTHONPATH, LD_LIBRARY_PATH, MANPATH: where code and settings are looked for
    "_PROXY",
    "_PROXY_URL",
    "_OPTIONS",  # NODE_OPTIONS, ASAN_OPTIONS, GREP_OPTIONS: arguments that stand in no command line
    "_OPTS",
    "_CLI_ARGS",
    "PAGER",
    "_EDITOR",
    "_BROWSER",
    "_ASKPASS",
    "_RSH",
    "_CA_BUNDLE",
    "_CA_CERT",
    "_CA_CERTS",
    "_CA_FILE",
    "_CA_PATH",
    "_CACERT",
    "_CAINFO",
    "_CERT_FILE",
    "_CERT_DIR",
    "_CONFIG",
    "_CONFIG_FILE",
    "_CONFIG_DIR",
    "_CONFIG_HOME",
    "_PRELOAD",
    "RCFILE",
)
_FLAGS_OF_COMPILERS = (
    # Not FEATURE_FLAGS: only the names that compilers and make put on their command lines.
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "ASFLAGS",
    "GOFLAGS",
    "MAKEFLAGS",
    "MFLAGS",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
)

_NAMES = frozenset({
    *_C_LIBRARY, *_SHELL_NAMES, *_RUN_TIMES, *_HELPERS, *_CLIENT_NAMES, *_PLACE_NAMES, *_FLAGS_OF_COMPILERS,
})
_BEGINNINGS = (
    *_LOADERS, *_SHELLS, *_INTERPRETERS, *_BUILDERS, *_PLUGINS, *_GIT_AND_SHELLS_AFAR, *_CLIENTS, *_PLACES,
)


def forbidden(name: str) -> bool:
    """Whether a variable of this name steers a program, so that only its toolkit may let calls or sessions set it.

    Upper and lower case are the same here: `http_proxy` and `npm_config_registry` do what the shouted ones do.
    """
    upper = name.upper()
    return upper in _NAMES or upper.startswith(_BEGINNINGS) or upper.endswith(_ENDS)
