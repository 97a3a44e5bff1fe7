"""Programs that know nothing of Emporion, one that is clean and one with planted faults, for AWS and for Azure."""

from __future__ import annotations

AWS_CLEAN = """
import json
vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", opts=opts)
subnet = aws.ec2.Subnet("subnet", vpc_id=vpc.id, cidr_block="10.0.0.0/20", opts=opts)
group = aws.ec2.SecurityGroup(
    "group", vpc_id=vpc.id,
    ingress=[dict(protocol="-1", from_port=0, to_port=0, self=True),
             dict(protocol="tcp", from_port=443, to_port=443, cidr_blocks=["10.0.0.0/8"])],
    egress=[dict(protocol="-1", from_port=0, to_port=0, self=True)], opts=opts)
role = aws.iam.Role("role", assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}), opts=opts)
aws.iam.RolePolicy("reads", role=role.name, policy=json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::data/*"]}]}), opts=opts)
profile = aws.iam.InstanceProfile("profile", role=role.name, opts=opts)
template = aws.ec2.LaunchTemplate(
    "template", image_id="ami-0f1e2d3c4b5a69788", instance_type="p4d.24xlarge",
    iam_instance_profile=dict(arn=profile.arn),
    metadata_options=dict(http_tokens="required", http_put_response_hop_limit=2, http_endpoint="enabled"),
    block_device_mappings=[dict(device_name="/dev/sda1", ebs=dict(encrypted="true", volume_size=100))],
    network_interfaces=[dict(interface_type="efa", security_groups=[group.id], subnet_id=subnet.id, device_index=0,
                             associate_public_ip_address="false")], opts=opts)
aws.ec2.Instance("node", launch_template=dict(id=template.id, version="$Latest"), opts=opts)
bucket = aws.s3.Bucket("bucket", bucket="clean-bucket-1", opts=opts)
aws.s3.BucketPublicAccessBlock("private", bucket=bucket.id, block_public_acls=True, block_public_policy=True,
                               ignore_public_acls=True, restrict_public_buckets=True, opts=opts)
aws.s3.BucketServerSideEncryptionConfiguration("sealed", bucket=bucket.id, rules=[
    dict(apply_server_side_encryption_by_default=dict(sse_algorithm="AES256"))], opts=opts)
arn = "arn:aws:s3:::clean-bucket-1"
aws.s3.BucketPolicy("tls", bucket="clean-bucket-1", policy=json.dumps({
    "Version": "2012-10-17", "Statement": [{
        "Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": [arn, arn + "/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}}}]}), opts=opts)
aws.ebs.Volume("scratch", availability_zone="us-west-2a", size=10, encrypted=True, opts=opts)
"""
AWS_FAULTY = """
import json
vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", opts=opts)
subnet = aws.ec2.Subnet("subnet", vpc_id=vpc.id, cidr_block="10.0.0.0/20", map_public_ip_on_launch=True, opts=opts)
group = aws.ec2.SecurityGroup(
    "group", vpc_id=vpc.id, ingress=[dict(protocol="tcp", from_port=20, to_port=30, cidr_blocks=["0.0.0.0/0"])],
    opts=opts)
aws.vpc.SecurityGroupIngressRule("rdp", security_group_id=group.id, ip_protocol="tcp", from_port=3389, to_port=3389,
                                 cidr_ipv6="::/0", opts=opts)
aws.ec2.Instance("open", ami="ami-0f1e2d3c4b5a69788", instance_type="g5.xlarge", subnet_id=subnet.id,
                 user_data="export HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz0123456789", opts=opts)
template = aws.ec2.LaunchTemplate(
    "efa", image_id="ami-0f1e2d3c4b5a69788", instance_type="p4d.24xlarge",
    metadata_options=dict(http_tokens="required"),
    block_device_mappings=[dict(device_name="/dev/sda1", ebs=dict(encrypted="true"))],
    network_interfaces=[dict(interface_type="efa", security_groups=[group.id], subnet_id=subnet.id,
                             associate_public_ip_address="false")], opts=opts)
aws.s3.Bucket("bucket", opts=opts)
aws.ebs.Volume("plain", availability_zone="us-west-2a", size=10, opts=opts)
aws.iam.Policy("all", policy=json.dumps({"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Action": "*", "Resource": "*"}]}), opts=opts)
aws.iam.AccessKey("key", user="bob", opts=opts)
cheap = aws.ec2.LaunchTemplate(
    "cheap", image_id="ami-0f1e2d3c4b5a69788", instance_type="g5.xlarge",
    metadata_options=dict(http_tokens="required"),
    block_device_mappings=[dict(device_name="/dev/sda1", ebs=dict(encrypted="true"))],
    network_interfaces=[dict(subnet_id=subnet.id, associate_public_ip_address="false")],
    instance_market_options=dict(market_type="spot", spot_options=dict(
        spot_instance_type="persistent", instance_interruption_behavior="stop")), opts=opts)
steady = aws.ec2.LaunchTemplate(
    "steady", image_id="ami-0f1e2d3c4b5a69788", instance_type="g5.xlarge",
    metadata_options=dict(http_tokens="required"),
    block_device_mappings=[dict(device_name="/dev/sda1", ebs=dict(encrypted="true"))],
    network_interfaces=[dict(subnet_id=subnet.id, associate_public_ip_address="false")], opts=opts)
aws.autoscaling.Group(
    "mix", min_size=2, max_size=2, vpc_zone_identifiers=[subnet.id], mixed_instances_policy=dict(
        launch_template=dict(launch_template_specification=dict(launch_template_id=steady.id, version="$Latest")),
        instances_distribution=dict(on_demand_percentage_above_base_capacity=50)), opts=opts)
"""
AWS_FAULTS = {
    ("no-public-ssh", "group"), ("no-public-ssh", "rdp"), ("gpu-node-no-public-ip", "open"),
    ("metadata-session-tokens", "open"), ("disk-encrypted", "open"), ("no-secrets-in-user-data", "open"),
    ("rdma-self-rules", "group"), ("bucket-not-public", "bucket"), ("bucket-encrypted", "bucket"),
    ("bucket-tls-only", "bucket"), ("disk-encrypted", "plain"), ("no-wildcard-rights", "all"),
    ("no-long-lived-keys", "key"), ("spot-auto-renew", "cheap"), ("spot-auto-renew", "mix"),
}  # fmt: skip
"""What is mandatory and broken, as rule and resource."""
AZURE_HEAD = """
from pulumi_azure_native import authorization, compute, network, resources, storage
import pulumi_azure_native as azure
there = pulumi.ResourceOptions(provider=azure.Provider("east", location="eastus"))
group = resources.ResourceGroup("group", resource_group_name="group", location="eastus", opts=there)
here = dict(resource_group_name=group.name, location="eastus", opts=there)
"""
AZURE_CLEAN = """
storage.StorageAccount("store", account_name="cleanstore1", kind="StorageV2", sku=dict(name="Standard_LRS"),
                       minimum_tls_version="TLS1_2", enable_https_traffic_only=True, allow_blob_public_access=False,
                       allow_shared_key_access=False, **here)
network.NetworkSecurityGroup("rules", network_security_group_name="rules", security_rules=[
    dict(name="in", priority=100, direction="Inbound", access="Allow", protocol="*", source_port_range="*",
         source_address_prefix="VirtualNetwork", destination_address_prefix="*", destination_port_range="*")], **here)
"""
AZURE_FAULTY = """
account = storage.StorageAccount("store", account_name="openstore1", kind="StorageV2", sku=dict(name="Standard_LRS"),
                                 minimum_tls_version="TLS1_0", **here)
storage.BlobContainer("public", resource_group_name=group.name, account_name=account.name, container_name="public",
                      public_access="Blob", opts=there)
network.NetworkSecurityGroup("rules", network_security_group_name="rules", security_rules=[
    dict(name="in", priority=100, direction="Inbound", access="Allow", protocol="Tcp", source_port_range="*",
         source_address_prefix="*", destination_address_prefix="*", destination_port_ranges=["443", "20-30"])], **here)
"""
MACHINE = """
net = network.VirtualNetwork("net", virtual_network_name="net",
                             address_space=dict(address_prefixes=["10.0.0.0/16"]), **here)
subnet = network.Subnet("subnet", resource_group_name=group.name, virtual_network_name=net.name, subnet_name="nodes",
                        address_prefix="10.0.0.0/24", opts=there)
address = network.PublicIPAddress("address", public_ip_address_name="address", public_ip_allocation_method="Static",
                                  sku=dict(name="Standard"), **here)
card = network.NetworkInterface("card", network_interface_name="card", ip_configurations=[
    dict(name="one", subnet=dict(id=subnet.id), public_ip_address=dict(id=address.id))], **here)
compute.VirtualMachine(
    "node", vm_name="node", hardware_profile=dict(vm_size="Standard_NC24ads_A100_v4"), priority="Spot",
    eviction_policy="Delete", network_profile=dict(network_interfaces=[dict(id=card.id, primary=True)]),
    os_profile=dict(computer_name="node", admin_username="me",
                    custom_data="REJfUEFTU1dPUkQ9Y29ycmVjdC1ob3JzZS05Cg==",
                    linux_configuration=dict(disable_password_authentication=True, ssh=dict(public_keys=[
                        dict(path="/home/ubuntu/.ssh/authorized_keys", key_data="ssh-ed25519 AAAA me")]))),
    storage_profile=dict(image_reference=dict(publisher="canonical", offer="ubuntu-24_04-lts", sku="server",
                                              version="24.04.202611010"),
                         os_disk=dict(create_option="FromImage",
                                      managed_disk=dict(storage_account_type="StandardSSD_LRS"))),
    **here)
compute.VirtualMachineScaleSet(
    "pool", vm_scale_set_name="pool", sku=dict(name="Standard_NC24ads_A100_v4", capacity=2, tier="Standard"),
    orchestration_mode="Uniform", upgrade_policy=dict(mode="Manual"), spot_restore_policy=dict(enabled=True),
    virtual_machine_profile=dict(
        priority="Spot", eviction_policy="Delete", billing_profile=dict(max_price=-1),
        os_profile=dict(computer_name_prefix="pool", admin_username="me",
                        linux_configuration=dict(disable_password_authentication=True, ssh=dict(public_keys=[
                            dict(path="/home/ubuntu/.ssh/authorized_keys", key_data="ssh-ed25519 AAAA me")]))),
        storage_profile=dict(image_reference=dict(publisher="canonical", offer="ubuntu-24_04-lts", sku="server",
                                                  version="24.04.202611010"),
                             os_disk=dict(create_option="FromImage",
                                          managed_disk=dict(storage_account_type="StandardSSD_LRS"))),
        network_profile=dict(network_interface_configurations=[dict(name="one", primary=True, ip_configurations=[
            dict(name="one", primary=True, subnet=dict(id=subnet.id))])])), **here)
"""
AZURE_FAULTY += MACHINE
AZURE_FAULTS = {
    ("gpu-node-no-public-ip", "node"), ("no-secrets-in-user-data", "node"), ("spot-auto-renew", "pool"),
    ("no-public-ssh", "rules"), ("bucket-not-public", "store"), ("bucket-not-public", "public"),
    ("bucket-tls-only", "store"), ("no-shared-keys", "store"),
}  # fmt: skip
