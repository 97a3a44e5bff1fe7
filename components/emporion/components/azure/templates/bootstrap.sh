#!/bin/bash
# A node's first boot. What the node is stands in /etc/emporion/node.env.
# Runs once, as root. Every step may be run again. Ubuntu 24.04 (see azure/images.py).
set -Eeuo pipefail
umask 022
export DEBIAN_FRONTEND=noninteractive

# shellcheck source=/dev/null
source /etc/emporion/node.env

LOG=/var/log/emporion-bootstrap.log

say() { printf 'bootstrap: %s\n' "$*"; }

azure_call() { python3 /opt/emporion/azure_client.py --identity "${EMPORION_IDENTITY}" "$@"; }

# The log goes to the cluster's store in any case: a node that failed cannot always be entered.
finish() {
  local status=$?
  local blob
  blob="${EMPORION_CHECKPOINT_URI}/bootstrap-logs/${EMPORION_POOL}/$(hostname)/$(date -u +%Y%m%dT%H%M%SZ).log"
  if ((status == 0)); then
    say 'done'
    touch /etc/emporion/ready
  else
    say "failed with status ${status}"
  fi
  azure_call put-blob "${blob}" "${LOG}" || say 'the log could not be sent'
  exit "${status}"
}

# try TIMES PAUSE COMMAND...: the network and the roles may be late by some minutes.
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

# Interfaces of accelerated networking are in the same folder: they say Ethernet.
infiniband_ports() {
  grep -lx InfiniBand /sys/class/infiniband/*/ports/1/link_layer 2>/dev/null | wc -l
}

infiniband_is_up() {
  local up
  up=$(grep -l ACTIVE /sys/class/infiniband/*/ports/1/state 2>/dev/null | wc -l)
  (($(infiniband_ports) == EMPORION_GPUS && up >= EMPORION_GPUS))
}

infiniband() {
  if ((EMPORION_INFINIBAND == 0)); then return 0; fi
  # A node that has fewer than it should would drag the whole cluster down to TCP: better no node.
  if ! try 12 10 infiniband_is_up; then
    say "$(infiniband_ports) InfiniBand ports, expected ${EMPORION_GPUS} that are active"
    return 1
  fi
}

# Local NVMe disks as one fast file system at /scratch; without any, the temporary disk.
nvme() {
  if mountpoint -q /scratch; then return 0; fi
  if ((EMPORION_NVME == 0)); then
    if mountpoint -q /mnt; then ln -sfn /mnt /scratch; fi
    return 0
  fi
  local disks=() device=/dev/md0
  mapfile -t disks < <(lsblk --nodeps --noheadings --paths --output NAME,MODEL | awk '/NVMe Direct Disk/ {print $1}')
  if ((${#disks[@]} == 0)); then
    say 'no local NVMe disk found'
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

# The node image brings Lustre's client; its version must be the file system's or newer.
lustre() {
  if [[ -z ${EMPORION_LUSTRE_ADDRESS} ]]; then return 0; fi
  if ! modinfo lustre >/dev/null 2>&1; then
    say 'the image has no Lustre client'
    return 1
  fi
  install -d -m 0755 /lustre
  if ! grep -q '^[^ ]* /lustre lustre' /etc/fstab; then
    echo "${EMPORION_LUSTRE_ADDRESS}@tcp:/lustrefs /lustre lustre noatime,flock,_netdev,nofail 0 0" >>/etc/fstab
  fi
  mountpoint -q /lustre || try 20 15 mount /lustre
}

munge_value() { azure_call get-secret "${EMPORION_VAULT}" "${EMPORION_SECRET}"; }

munge_is_set() { [[ -n $(munge_value 2>/dev/null) ]]; }

munge_is_made() {
  munge_is_set || head -c 1024 /dev/urandom | base64 --wrap=0 | azure_call put-secret "${EMPORION_VAULT}" "${EMPORION_SECRET}"
}

# The controller makes the key once, the nodes wait for it. It exists in the vault and in /etc/munge, nowhere else.
munge() {
  packages munge
  if [[ ${EMPORION_ROLE} == controller ]]; then try 30 20 munge_is_made; fi
  try 90 10 munge_is_set
  install -d -m 0700 -o munge -g munge /etc/munge
  (umask 077 && munge_value | base64 --decode >/etc/munge/munge.key)
  chown munge:munge /etc/munge/munge.key
  chmod 0400 /etc/munge/munge.key
  systemctl enable --quiet munge
  systemctl restart munge
}

# The same file on every machine. Nodes register themselves (slurmd -Z), so a set may replace one without anybody
# writing a name into it.
slurm_configuration() {
  install -d -m 0755 /etc/slurm
  cat >/etc/slurm/slurm.conf <<CONF
ClusterName=emporion
SlurmctldHost=controller(${EMPORION_CONTROLLER_IP})
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

# What Azure announces 30 seconds before it takes a spot node, and 5 minutes before a set ends one.
scheduled_events() {
  cat >/etc/systemd/system/emporion-events.service <<'UNIT'
[Unit]
Description=Emporion: Azure's Scheduled Events
After=network-online.target
Wants=network-online.target
[Service]
ExecStart=/usr/bin/python3 /opt/emporion/scheduled_events.py
Restart=on-failure
RestartSec=5
[Install]
WantedBy=multi-user.target
UNIT
  systemctl daemon-reload
  systemctl enable --quiet emporion-events
  systemctl restart emporion-events
}

main() {
  say "${EMPORION_ROLE} of ${EMPORION_STACK}, pool ${EMPORION_POOL}"
  cat >/etc/profile.d/emporion.sh <<PROFILE
export EMPORION_CHECKPOINT_URI='${EMPORION_CHECKPOINT_URI}'
PROFILE
  if [[ ${EMPORION_ROLE} == node ]]; then
    scheduled_events
    nvme
    infiniband
    lustre
  fi
  if [[ ${EMPORION_SCHEDULER} == slurm ]]; then
    munge
    if [[ ${EMPORION_ROLE} == controller ]]; then slurm_controller; else slurm_node; fi
  fi
}

trap finish EXIT
main
