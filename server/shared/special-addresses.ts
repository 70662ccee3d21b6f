import { BlockList, isIP, isIPv4 } from "node:net";

/** Recognises IP addresses that aren't public. */

/**
 * Networks that posts may not go to, so that nobody makes the server talk to itself or its own network. They are
 * those in IANA's registries of special-purpose addresses, even those that are globally reachable, because these are
 * the network's own services: https://www.iana.org/assignments/iana-ipv4-special-registry, …/iana-ipv6-special-
 * registry, …/multicast-addresses, …/ipv6-address-space
 */
const specialPurpose: readonly (readonly [network: string, name: string])[] = [
  ["0.0.0.0/8", "this network"],
  ["10.0.0.0/8", "private use"],
  ["100.64.0.0/10", "shared address space"],
  ["127.0.0.0/8", "loopback"],
  // Not in a registry: a public address that is the host's own on every virtual machine of Azure.
  ["168.63.129.16/32", "cloud platform"],
  ["169.254.0.0/16", "link local"],
  ["172.16.0.0/12", "private use"],
  ["192.0.0.0/24", "IETF protocol assignments"],
  ["192.0.2.0/24", "documentation"],
  ["192.31.196.0/24", "AS112"],
  ["192.52.193.0/24", "AMT"],
  ["192.88.99.0/24", "6to4 relay anycast"],
  ["192.168.0.0/16", "private use"],
  ["192.175.48.0/24", "AS112"],
  ["198.18.0.0/15", "benchmarking"],
  ["198.51.100.0/24", "documentation"],
  ["203.0.113.0/24", "documentation"],
  ["224.0.0.0/4", "multicast"],
  ["240.0.0.0/4", "reserved"],
  ["255.255.255.255/32", "limited broadcast"],

  // Everything except 2000::/3, some of it by name.
  ["::/3", "not global unicast"],
  ["4000::/2", "not global unicast"],
  ["8000::/1", "not global unicast"],
  ["::/96", "IPv4-compatible"],
  ["::/128", "unspecified"],
  ["::1/128", "loopback"],
  ["::ffff:0:0:0/96", "IPv4-translated (SIIT)"],
  ["64:ff9b::/96", "IPv4-IPv6 translation (NAT64)"],
  ["64:ff9b:1::/48", "IPv4-IPv6 translation (NAT64)"],
  ["100::/64", "discard only"],
  ["100:0:0:1::/64", "dummy prefix"],
  ["5f00::/16", "segment routing (SRv6) SIDs"],
  ["fc00::/7", "unique local"],
  ["fe80::/10", "link local"],
  ["fec0::/10", "site local"],
  ["ff00::/8", "multicast"],

  ["2001::/23", "IETF protocol assignments"],
  ["2001::/32", "Teredo"],
  ["2001:2::/48", "benchmarking"],
  ["2001:3::/32", "AMT"],
  ["2001:4:112::/48", "AS112"],
  ["2001:10::/28", "ORCHID"],
  ["2001:20::/28", "ORCHIDv2"],
  ["2001:30::/28", "drone remote ID"],
  ["2001:db8::/32", "documentation"],
  ["2002::/16", "6to4"],
  ["2620:4f:8000::/48", "AS112"],
  ["3fff::/20", "documentation"],
];

const mappedIPv4 = listOf("::ffff:0:0/96");

/** The narrowest range first, as its name says most. */
const ranges = specialPurpose
  .map(([network, name]) => ({
    name,
    bits: Number(network.split("/")[1]),
    isIPv4: isIPv4(network.split("/")[0]),
    addresses: listOf(network),
  }))
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
