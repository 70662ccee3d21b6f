import { BlockList, isIP, isIPv4 } from "node:net";

/** Recognises IP addresses that aren't public. */

/**
 * Networks that posts may not go to, so that nobody makes the server talk to itself or its own network. They are
 * those in IANA's registries of special-purpose addresses, even those that are globally reachable, because these are
 * the network's own services: https://www.iana.org/assignments/iana-ipv4-special-registry, …/iana-ipv6-special-
 * registry, …/multicast-addresses, …/ipv6-address-space
 */
const specialPurpose: Record<string, string> = {
  "this network": "0.0.0.0/8",
  "private use": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",
  "shared address space": "100.64.0.0/10",
  loopback: "127.0.0.0/8 ::1/128",
  // Not in a registry: a public address that is the host's own on every virtual machine of Azure.
  "cloud platform": "168.63.129.16/32",
  "link local": "169.254.0.0/16 fe80::/10",
  "IETF protocol assignments": "192.0.0.0/24 2001::/23",
  documentation: "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
  AS112: "192.31.196.0/24 192.175.48.0/24 2001:4:112::/48 2620:4f:8000::/48",
  AMT: "192.52.193.0/24 2001:3::/32",
  "6to4 relay anycast": "192.88.99.0/24",
  benchmarking: "198.18.0.0/15 2001:2::/48",
  multicast: "224.0.0.0/4 ff00::/8",
  reserved: "240.0.0.0/4",
  "limited broadcast": "255.255.255.255/32",
  // Everything except 2000::/3, some of it by name.
  "not global unicast": "::/3 4000::/2 8000::/1",
  "IPv4-compatible": "::/96",
  unspecified: "::/128",
  "IPv4-translated (SIIT)": "::ffff:0:0:0/96",
  "IPv4-IPv6 translation (NAT64)": "64:ff9b::/96 64:ff9b:1::/48",
  "discard only": "100::/64",
  "dummy prefix": "100:0:0:1::/64",
  "segment routing (SRv6) SIDs": "5f00::/16",
  "unique local": "fc00::/7",
  "site local": "fec0::/10",
  Teredo: "2001::/32",
  ORCHID: "2001:10::/28",
  ORCHIDv2: "2001:20::/28",
  "drone remote ID": "2001:30::/28",
  "6to4": "2002::/16",
};

const mappedIPv4 = listOf("::ffff:0:0/96");

/** The narrowest range first, as its name says most. */
const ranges = Object.entries(specialPurpose)
  .flatMap(([name, networks]) => networks.split(" ").map((network) => ({ name, network })))
  .map(({ name, network }) => {
    const [address, bits] = network.split("/");
    return { name, bits: Number(bits), isIPv4: isIPv4(address), addresses: listOf(network) };
  })
  .sort((a, b) => b.bits - a.bits);

function listOf(network: string): BlockList {
  const [address, bits] = network.split("/");
  const list = new BlockList();
  list.addSubnet(address, Number(bits), familyOf(address));
  return list;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv4(address) ? "ipv4" : "ipv6";
}

/** An address's special purpose; undefined if it is public. IPv4 in IPv6 form counts as IPv4. @throws RangeError */
export function specialPurposeOf(address: string): string | undefined {
  if (isIP(address) === 0) throw new RangeError(`found ${address}, expected an IP address`);
  const family = familyOf(address);
  const countsAsIPv4 = family === "ipv4" || mappedIPv4.check(address, family);
  return ranges.find((range) => range.isIPv4 === countsAsIPv4 && range.addresses.check(address, family))
    ?.name;
}
