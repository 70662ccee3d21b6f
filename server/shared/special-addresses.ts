import { BlockList, isIP, isIPv4 } from "node:net";

/**
 * IPv4 networks that webhooks may not be in by default, because their addresses may lead to the server or its network.
 * These include all special-purpose networks. The sources of this list and the next are IANA's registries below
 * https://www.iana.org/assignments/: iana-ipv4-special-registry, iana-ipv6-special-registry, multicast-addresses and
 * ipv6-address-space.
 */
const specialIPv4 = listOf(
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24",
  "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24",
  "203.0.113.0/24 224.0.0.0/3",
  // This public address isn't in a registry. On a virtual machine of Azure, it leads to the machine's host.
  "168.63.129.16/32",
);
/** IPv6 networks that webhooks may not be in by default, with the sources of `specialIPv4`. */
const specialIPv6 = listOf(
  // All addresses except 2000::/3, the global unicast addresses.
  "::/3 4000::/2 8000::/1",
  "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20",
);
const loopback = listOf("127.0.0.0/8 ::1/128");
const mappedIPv4 = listOf("::ffff:0:0/96");

function listOf(...networks: string[]): BlockList {
  const list = new BlockList();
  for (const network of networks.join(" ").split(" ")) {
    const [address, bits] = network.split("/");
    list.addSubnet(address, Number(bits), familyOf(address));
  }
  return list;
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv4(address) ? "ipv4" : "ipv6";
}

/**
 * Tells whether an address is a loopback address, another special-purpose address, or public. An IPv4-mapped IPv6 address
 * counts as IPv4.
 * @throws RangeError when the text isn't an IP address
 */
export function reachOf(address: string): "loopback" | "special" | "public" {
  if (isIP(address) === 0) throw new RangeError(`found ${address}, expected an IP address`);
  const family = familyOf(address);
  if (loopback.check(address, family)) return "loopback";
  const countsAsIPv4 = family === "ipv4" || mappedIPv4.check(address, family);
  return (countsAsIPv4 ? specialIPv4 : specialIPv6).check(address, family) ? "special" : "public";
}
