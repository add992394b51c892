# Sourced by the scripts here that take packages from Debian: an apt whose state is a folder.
#
# The system's own package sources, lists and packages stay as they are.  Packages come from the
# mirror that the machine's own apt sources name; DEBIAN_MIRROR=URL names another one.

readonly SUITE=trixie
readonly KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

die() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# Prints the mirror from which this machine takes Debian itself.
debian_mirror() {
    if [[ -n ${DEBIAN_MIRROR:-} ]]; then
        echo "$DEBIAN_MIRROR"
        return
    fi
    # apt parses both formats of its sources.  A suite of Debian's main archive is named as the
    # release is or by one of the standing names; others' repositories name theirs differently.
    local codename
    codename=$(. /etc/os-release && [[ $ID == debian ]] && echo "${VERSION_CODENAME:-}") || true
    apt-get indextargets --no-release-info --format '$(COMPONENT) $(RELEASE) $(REPO_URI)' \
        'Created-By: Packages' |
        awk -v names="$SUITE $codename stable testing sid unstable" '
            BEGIN { split(names, list); for (i in list) debian[list[i]] }
            $1 == "main" && $2 in debian { print $3; exit }'
}

# private_apt FOLDER ARCHITECTURE: sets FOLDER up and reads the package list of Debian's $SUITE.
private_apt() {
    local folder=$1 architecture=$2 mirror
    command -v apt-get >/dev/null || die "apt-get not found: this wants Debian's package tools"
    [[ -r $KEYRING ]] || die "$KEYRING is missing: install debian-archive-keyring"
    mirror=$(debian_mirror)
    [[ -n $mirror ]] || die "apt's sources name no Debian mirror: set DEBIAN_MIRROR=URL"
    mkdir -p "$folder"/{preferences.d,state/lists/partial,cache/archives/partial}
    : >"$folder/status"
    echo "deb [signed-by=$KEYRING arch=$architecture] $mirror $SUITE main" >"$folder/sources.list"
    # An empty dpkg status file makes apt choose by the sources above alone.  The machine's
    # settings (a proxy, say) hold; what they run after an update is meant for its own lists.
    cat >"$folder/apt.conf" <<END
APT::Architecture "$architecture";
#clear APT::Architectures;
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
APT::Update::Error-Mode "any";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::Languages "none";
Acquire::Retries "3";
Dir::Cache "$folder/cache";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "$folder/preferences.d";
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "$folder/state";
Dir::State::status "$folder/status";
END
    run_private_apt "$folder" update ||
        die "can't read the package list of $mirror $SUITE: $(apt_error "$folder")"
}

# run_private_apt FOLDER ARGUMENT...: apt-get with that folder's state; what it says goes to a log.
run_private_apt() {
    local folder=$1
    shift
    apt-get -q -c "$folder/apt.conf" "$@" >"$folder/log" 2>&1
}

# apt_error FOLDER: the first error of the last run.
apt_error() {
    grep -m 1 '^E:' "$1/log" || grep -m 1 '^[WN]:' "$1/log" || echo "apt-get failed"
}
