#!/bin/bash
# Second part of a node's first boot; user data fetched and checked it. What the node is stands in /etc/emporion/node.env.
# Runs once, as root. Every step may be run again. Ubuntu 24.04 (see aws/images.py).
set -Eeuo pipefail
umask 022
export DEBIAN_FRONTEND=noninteractive

# shellcheck source=/dev/null
source /etc/emporion/node.env

LOG=/var/log/emporion-bootstrap.log
EFA_INSTALLER=https://efa-installer.amazonaws.com
EFA_VERSION=1.47.0
# Key of the EFA installer (docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html, read 2026-08).
EFA_KEY='4E90 91BC BB97 A96B 26B1 5E59 A054 80B1 DD2D 3CCC'
LUSTRE_KEYS=https://fsx-lustre-client-repo-public-keys.s3.amazonaws.com/fsx-ubuntu-public-key.asc
LUSTRE_PACKAGES=https://fsx-lustre-client-repo.s3.amazonaws.com/ubuntu

say() { printf 'bootstrap: %s\n' "$*"; }

aws_call() { python3 /opt/emporion/aws_client.py --region "${EMPORION_REGION}" "$@"; }

# The log goes to the cluster's log group in any case: a node that failed cannot always be entered.
finish() {
  local status=$?
  local stream
  stream="${EMPORION_POOL}/$(hostname)/$(date -u +%Y%m%dT%H%M%SZ)"
  if ((status == 0)); then
    say 'done'
    touch /etc/emporion/ready
  else
    say "failed with status ${status}"
  fi
  aws_call put-log "${EMPORION_LOG_GROUP}" "${stream}" "${LOG}" || say 'the log could not be sent'
  exit "${status}"
}

# try TIMES PAUSE COMMAND...: the network and the role may be late by some seconds.
try() {
  local times=$1 pause=$2 attempt
  shift 2
  for ((attempt = 1; attempt <= times; attempt++)); do
    if "$@"; then return 0; fi
    say "attempt ${attempt} of ${times} failed: $*"
    sleep "${pause}"
  done
  return 1
}

packages() {
  local missing=() name
  for name in "$@"; do
    if ! dpkg-query --show --showformat='${Status}' "${name}" 2>/dev/null | grep -q 'ok installed'; then
      missing+=("${name}")
    fi
  done
  if ((${#missing[@]} == 0)); then return 0; fi
  say "installing ${missing[*]}"
  if ! try 5 10 apt-get -o DPkg::Lock::Timeout=300 -qq update ||
    ! try 3 10 apt-get -o DPkg::Lock::Timeout=300 -qq -y install --no-install-recommends "${missing[@]}"; then
    say "${missing[*]} could not be installed: without a way out (access.nat: false) they must be in the image"
    return 1
  fi
}

efa() {
  if ((EMPORION_EFA_INTERFACES == 0)); then return 0; fi
  if [[ ! -x /opt/amazon/efa/bin/fi_info ]]; then
    say "installing EFA ${EFA_VERSION}"
    local folder
    folder=$(mktemp -d)
    (
      cd "${folder}"
      curl -fsSLO --retry 5 "${EFA_INSTALLER}/aws-efa-installer-${EFA_VERSION}.tar.gz"
      curl -fsSLO --retry 5 "${EFA_INSTALLER}/aws-efa-installer-${EFA_VERSION}.tar.gz.sig"
      curl -fsSLO --retry 5 "${EFA_INSTALLER}/aws-efa-installer.key"
      export GNUPGHOME="${folder}/keys"
      install -d -m 0700 "${GNUPGHOME}"
      gpg --quiet --import aws-efa-installer.key
      gpg --with-colons --fingerprint | grep -q "^fpr:*${EFA_KEY// /}:"
      gpg --quiet --verify "aws-efa-installer-${EFA_VERSION}.tar.gz.sig" "aws-efa-installer-${EFA_VERSION}.tar.gz"
      tar -xf "aws-efa-installer-${EFA_VERSION}.tar.gz"
      cd aws-efa-installer
      ./efa_installer.sh --yes --minimal
    )
    rm -rf "${folder}"
  fi
  # A node that has fewer than it should would drag the whole cluster down to TCP: better no node.
  local found
  found=$(find /sys/class/infiniband -mindepth 1 -maxdepth 1 | wc -l)
  if ((found != EMPORION_EFA_INTERFACES)); then
    say "${found} EFA interfaces, expected ${EMPORION_EFA_INTERFACES}"
    return 1
  fi
  cat >/etc/profile.d/emporion-efa.sh <<'EFA'
export PATH="/opt/amazon/efa/bin:${PATH}"
export FI_PROVIDER=efa
export FI_EFA_USE_DEVICE_RDMA=1
EFA
}

# Instance store as one fast file system at /scratch. AWS's images mount it themselves at /opt/dlami/nvme.
nvme() {
  if ((EMPORION_NVME == 0)); then return 0; fi
  if mountpoint -q /opt/dlami/nvme; then
    ln -sfn /opt/dlami/nvme /scratch
    return 0
  fi
  if mountpoint -q /scratch; then return 0; fi
  local disks=() device=/dev/md0
  mapfile -t disks < <(lsblk --nodeps --noheadings --paths --output NAME,MODEL | awk '/Instance Storage/ {print $1}')
  if ((${#disks[@]} == 0)); then
    say 'no instance store found'
    return 1
  fi
  if ((${#disks[@]} == 1)); then
    device=${disks[0]}
  else
    packages mdadm
    mdadm --create "${device}" --run --level=0 --raid-devices="${#disks[@]}" "${disks[@]}"
  fi
  mkfs.ext4 -q -m 0 "${device}"
  install -d -m 0755 /scratch
  mount -o noatime "${device}" /scratch
  chmod 1777 /scratch
}

lustre() {
  if [[ -z ${EMPORION_LUSTRE_DNS} ]]; then return 0; fi
  if ! modinfo lustre >/dev/null 2>&1; then
    curl -fsSL --retry 5 "${LUSTRE_KEYS}" | gpg --dearmor --yes --output /usr/share/keyrings/fsx-lustre.gpg
    # shellcheck source=/dev/null
    source /etc/os-release
    echo "deb [signed-by=/usr/share/keyrings/fsx-lustre.gpg] ${LUSTRE_PACKAGES} ${VERSION_CODENAME} main" \
      >/etc/apt/sources.list.d/fsx-lustre.list
    packages "lustre-client-modules-$(uname -r)"
  fi
  install -d -m 0755 /fsx
  if ! grep -q '^[^ ]* /fsx lustre' /etc/fstab; then
    echo "${EMPORION_LUSTRE_DNS}@tcp:/${EMPORION_LUSTRE_MOUNT} /fsx lustre relatime,flock,_netdev,nofail 0 0" >>/etc/fstab
  fi
  mountpoint -q /fsx || try 20 15 mount /fsx
}

munge_value() { aws_call get-parameter "${EMPORION_MUNGE_PARAMETER}"; }

munge_is_set() {
  local value
  value=$(munge_value) && [[ ${value} != "${EMPORION_MUNGE_UNSET}" ]]
}

# The controller makes the key once, the nodes wait for it. It exists in the parameter and in /etc/munge, nowhere else.
munge() {
  packages munge
  if [[ ${EMPORION_ROLE} == controller ]] && ! munge_is_set; then
    head -c 1024 /dev/urandom | base64 --wrap=0 | aws_call put-parameter "${EMPORION_MUNGE_PARAMETER}"
  fi
  try 60 10 munge_is_set
  install -d -m 0700 -o munge -g munge /etc/munge
  (umask 077 && munge_value | base64 --decode >/etc/munge/munge.key)
  chown munge:munge /etc/munge/munge.key
  chmod 0400 /etc/munge/munge.key
  systemctl enable --quiet munge
  systemctl restart munge
}

# The same file on every machine. Nodes register themselves (slurmd -Z), so a group may replace one without anybody
# writing a name into it; the controller's name follows from its fixed address.
slurm_configuration() {
  install -d -m 0755 /etc/slurm
  cat >/etc/slurm/slurm.conf <<CONF
ClusterName=emporion
SlurmctldHost=ip-${EMPORION_CONTROLLER_IP//./-}(${EMPORION_CONTROLLER_IP})
SlurmUser=slurm
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=/var/spool/slurmctld
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmctldPidFile=/run/slurmctld.pid
SlurmdSpoolDir=/var/spool/slurmd
SlurmdLogFile=/var/log/slurm/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
GresTypes=gpu
MaxNodeCount=4096
TreeWidth=65533
ReturnToService=2
JobRequeue=1
SlurmdTimeout=60
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
  cat >/etc/slurm/cgroup.conf <<'CONF'
ConstrainCores=yes
ConstrainDevices=yes
ConstrainRAMSpace=yes
CONF
}

slurm_controller() {
  packages slurmctld slurm-client
  slurm_configuration
  install -d -m 0755 -o slurm -g slurm /var/spool/slurmctld /var/log/slurm
  systemctl enable --quiet slurmctld
  systemctl restart slurmctld
}

slurm_node() {
  packages slurmd slurm-client
  slurm_configuration
  install -d -m 0755 /var/spool/slurmd /var/log/slurm /etc/systemd/system/slurmd.service.d
  local found gres=''
  if ((EMPORION_GPUS > 0)); then
    found=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
    if ((found != EMPORION_GPUS)); then
      say "${found} GPUs, expected ${EMPORION_GPUS}"
      return 1
    fi
    gres="Gres=gpu:${EMPORION_GPUS} "
    seq --format='Name=gpu File=/dev/nvidia%g' 0 $((EMPORION_GPUS - 1)) >/etc/slurm/gres.conf
  fi
  cat >/etc/systemd/system/slurmd.service.d/emporion.conf <<UNIT
[Service]
Type=simple
ExecStart=
ExecStart=/usr/sbin/slurmd -D -Z --conf "${gres}Feature=${EMPORION_POOL}"
Restart=on-failure
RestartSec=10
UNIT
  systemctl daemon-reload
  systemctl enable --quiet slurmd
  systemctl restart slurmd
}

main() {
  say "${EMPORION_ROLE} of ${EMPORION_STACK}, pool ${EMPORION_POOL}"
  cat >/etc/profile.d/emporion.sh <<PROFILE
export EMPORION_CHECKPOINT_URI='${EMPORION_CHECKPOINT_URI}'
PROFILE
  nvme
  efa
  lustre
  if [[ ${EMPORION_SCHEDULER} == slurm ]]; then
    munge
    if [[ ${EMPORION_ROLE} == controller ]]; then slurm_controller; else slurm_node; fi
  fi
}

trap finish EXIT
main
