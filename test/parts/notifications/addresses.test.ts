import assert from "node:assert/strict";
import { Resolver } from "node:dns/promises";
import { createServer, isIPv4, isIPv6 } from "node:net";
import { type TestContext, test } from "node:test";
import { webhookFault } from "../../../server/accounts/webhook-url.ts";
import { specialPurposeOf } from "../../../server/shared/special-addresses.ts";
import { listening } from "../../support/connection.ts";
import { answersOf, Receiver } from "../../support/quota-events.ts";

/** Which addresses events are posted to. */

const unicast = undefined;
const notUnicast = "not global unicast";
const nat64 = "IPv4-IPv6 translation (NAT64)";
const ietf = "IETF protocol assignments";

/** The whole address space, each part by its first address; 4000::/2 is what lies behind the narrower ones. */
const ipv4Parts: [first: string, purpose: string | undefined][] = [
  ["0.0.0.0", "this network"],
  ["1.0.0.0", unicast],
  ["10.0.0.0", "private use"],
  ["11.0.0.0", unicast],
  ["100.64.0.0", "shared address space"],
  ["100.128.0.0", unicast],
  ["127.0.0.0", "loopback"],
  ["128.0.0.0", unicast],
  ["168.63.129.16", "cloud platform"],
  ["168.63.129.17", unicast],
  ["169.254.0.0", "link local"],
  ["169.255.0.0", unicast],
  ["172.16.0.0", "private use"],
  ["172.32.0.0", unicast],
  ["192.0.0.0", ietf],
  ["192.0.1.0", unicast],
  ["192.0.2.0", "documentation"],
  ["192.0.3.0", unicast],
  ["192.31.196.0", "AS112"],
  ["192.31.197.0", unicast],
  ["192.52.193.0", "AMT"],
  ["192.52.194.0", unicast],
  ["192.88.99.0", "6to4 relay anycast"],
  ["192.88.100.0", unicast],
  ["192.168.0.0", "private use"],
  ["192.169.0.0", unicast],
  ["192.175.48.0", "AS112"],
  ["192.175.49.0", unicast],
  ["198.18.0.0", "benchmarking"],
  ["198.20.0.0", unicast],
  ["198.51.100.0", "documentation"],
  ["198.51.101.0", unicast],
  ["203.0.113.0", "documentation"],
  ["203.0.114.0", unicast],
  ["224.0.0.0", "multicast"],
  ["240.0.0.0", "reserved"],
  ["255.255.255.255", "limited broadcast"],
];
const ipv6Parts: typeof ipv4Parts = [
  ["::", "unspecified"],
  ["::1", "loopback"],
  ["::2", "IPv4-compatible"],
  ["::1:0:0", notUnicast],
  ...ipv4Parts.map(([first, purpose]): [string, string | undefined] => [`::ffff:${first}`, purpose]),
  ["::1:0:0:0", notUnicast],
  ["::ffff:0:0:0", "IPv4-translated (SIIT)"],
  ["::ffff:1:0:0", notUnicast],
  ["64:ff9b::", nat64],
  ["64:ff9b::1:0:0", notUnicast],
  ["64:ff9b:1::", nat64],
  ["64:ff9b:2::", notUnicast],
  ["100::", "discard only"],
  ["100:0:0:1::", "dummy prefix"],
  ["100:0:0:2::", notUnicast],
  ["2000::", unicast],
  ["2001::", "Teredo"],
  ["2001:1::", ietf],
  ["2001:2::", "benchmarking"],
  ["2001:2:1::", ietf],
  ["2001:3::", "AMT"],
  ["2001:4::", ietf],
  ["2001:4:112::", "AS112"],
  ["2001:4:113::", ietf],
  ["2001:10::", "ORCHID"],
  ["2001:20::", "ORCHIDv2"],
  ["2001:30::", "drone remote ID"],
  ["2001:40::", ietf],
  ["2001:200::", unicast],
  ["2001:db8::", "documentation"],
  ["2001:db9::", unicast],
  ["2002::", "6to4"],
  ["2003::", unicast],
  ["2620:4f:8000::", "AS112"],
  ["2620:4f:8001::", unicast],
  ["3fff::", "documentation"],
  ["3fff:1000::", unicast],
  ["4000::", notUnicast],
  ["5f00::", "segment routing (SRv6) SIDs"],
  ["5f01::", notUnicast],
  ["6000::", notUnicast],
  ["8000::", notUnicast],
  ["fc00::", "unique local"],
  ["fe00::", notUnicast],
  ["fe80::", "link local"],
  ["fec0::", "site local"],
  ["ff00::", "multicast"],
];

function ipv4Number(address: string): bigint {
  return address.split(".").reduce((number, byte) => number * 256n + BigInt(byte), 0n);
}

function ipv4Text(number: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join(".");
}

function ipv6Number(address: string): bigint {
  const [, mapped] = /^::ffff:(.*\..*)$/.exec(address) ?? [];
  if (mapped !== undefined) return 0xffff_0000_0000n + ipv4Number(mapped);
  const [before, after] = address.split("::").map((half) => half.split(":").filter((group) => group !== ""));
  const groups = [...before, ...Array(8 - before.length - after.length).fill("0"), ...after];
  return groups.reduce((number, group) => number * 65_536n + BigInt(`0x${group}`), 0n);
}

function ipv6Text(number: bigint): string {
  return Array.from({ length: 8 }, (_, i) => ((number >> BigInt(16 * (7 - i))) & 0xffffn).toString(16)).join(
    ":",
  );
}

for (const [family, parts, numberOf, textOf, bits] of [
  ["IPv4", ipv4Parts, ipv4Number, ipv4Text, 32n],
  ["IPv6", ipv6Parts, ipv6Number, ipv6Text, 128n],
] as const)
  test(`the first and last address of every part of ${family} are what the registries say`, () => {
    for (const [i, [first, purpose]] of parts.entries()) {
      const end = i + 1 < parts.length ? numberOf(parts[i + 1][0]) : 1n << bits;
      assert.ok(numberOf(first) < end, first);
      for (const address of [first, textOf(numberOf(first)), textOf(end - 1n)])
        assert.equal(specialPurposeOf(address), purpose, address);
    }
  });

test("clouds' metadata services have no public address", () => {
  const services =
    "169.254.169.254 fd00:ec2::254 100.100.100.200 192.0.0.192 168.63.129.16 fe80::a9fe:a9fe%eth0";
  for (const address of services.split(" ")) assert.ok(specialPurposeOf(address) !== undefined, address);
});

test("what is no address is no public one", () => {
  for (const text of ["nonsense", "10.0.0", "", "1.1.1.1 ", "localhost"])
    assert.throws(() => specialPurposeOf(text), {
      name: "RangeError",
      message: `found ${text}, expected an IP address`,
    });
});

test("an address of this machine or network is found out in whatever form a URL has it", () => {
  const hosts =
    "0 127.1 0x7f000001 0x7f.0.0.1 2130706433 017700000001 0177.1 127.0.0.1. 0x7f.1. 10.1 0xa9fea9fe 2852039166 [::ffff:7f00:1] [0:0::1] [::ffff:192.168.0.1] [64:ff9b::a00:1] [64:ff9b:1::1] [::ffff:0:127.0.0.1] [3fff::1] [5f00::1] 198.19.0.1 １２７.1";
  for (const host of hosts.split(" "))
    assert.equal(webhookFault(`https://${host}/`, false), "a public address", host);
  assert.equal(webhookFault("https://hooks.example.com/", false), undefined);
  const longest = "https://hooks.example.com/".padEnd(2000, "x");
  assert.equal(webhookFault(longest, false), undefined);
  assert.equal(webhookFault(`${longest}x`, false), "a URL");
});

/** Makes every host resolve to the given addresses, a list per query. @returns the hosts that were looked up */
function resolveTo(t: TestContext, ...answers: string[]): string[] {
  const asked: string[] = [];
  t.mock.method(Resolver.prototype, "resolve4", async (host: string) => {
    asked.push(host);
    const addresses = answers[Math.min(asked.length, answers.length) - 1].split(" ");
    return addresses.filter(isIPv4);
  });
  t.mock.method(Resolver.prototype, "resolve6", async () => {
    const addresses = answers[Math.min(asked.length, answers.length) - 1].split(" ");
    return addresses.filter(isIPv6);
  });
  return asked;
}

for (const [addresses, refusal] of [
  ["10.0.0.1", "10.0.0.1 isn't a public address: private use"],
  ["1.1.1.1 169.254.169.254", "169.254.169.254 isn't a public address: link local"],
  ["1.1.1.1 ::ffff:a00:1", "::ffff:a00:1 isn't a public address: private use"],
  ["64:ff9b::7f00:1", "64:ff9b::7f00:1 isn't a public address: IPv4-IPv6 translation (NAT64)"],
  ["127.0.0.1", "127.0.0.1 isn't a public address: loopback"],
] as const)
  test(`a host that resolves to ${addresses} isn't connected to`, async (t) => {
    const asked = resolveTo(t, addresses);
    const urls = ["https://hooks.example.com/", "https://hooks.example.com./", "https://localhost./"];
    const answers = await answersOf(t, urls, { allowLoopback: false });
    assert.deepEqual(answers, [refusal, refusal, refusal]);
    assert.equal(asked.length, 3);
  });

test("a host is looked up once a try, and the connection goes to what was checked", async (t) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  t.after(() => server.close());
  const port = await listening(server);
  const asked = resolveTo(t, "127.0.0.1", "10.0.0.1");
  const url = `https://hooks.example.com:${port}/`;
  const [answer] = await answersOf(t, [url], { allowLoopback: true });
  assert.match(answer ?? "", /^(Client network socket disconnected|read ECONNRESET)/);
  assert.deepEqual([connections, asked], [1, ["hooks.example.com"]]);
});

test("a host without addresses fails a try, and says so", async (t) => {
  resolveTo(t, "");
  const answers = await answersOf(t, ["https://hooks.example.com/"], { allowLoopback: false });
  assert.deepEqual(answers, ["no address of hooks.example.com"]);
});

test("without the setting nothing goes to this machine, whatever was set as address before", async (t) => {
  const receiver = await Receiver.open();
  const { port } = new URL(receiver.url());
  const addresses =
    "127.0.0.1 127.0.0.1. 0x7f.1 0x7f.1. 2130706433 017700000001 [::1] [::ffff:127.0.0.1] [::ffff:7f00:1]";
  const hosts = [...addresses.split(" "), "localhost", "LOCALHOST"];
  const urls = [receiver.url(), ...hosts.map((host) => `https://${host}:${port}/`)];
  const [plain, ...answers] = await answersOf(t, urls, { allowLoopback: false });
  assert.match(plain ?? "", /isn't an https URL$/);
  for (const [i, host] of hosts.entries())
    assert.match(answers[i] ?? "", /^\S+ isn't a public address(: loopback)?$/, host);
  assert.equal(receiver.posts.length, 0);
});

test("with the setting events go to this machine by its name as well, and to no other that isn't public", async (t) => {
  const receiver = await Receiver.open();
  const asked = resolveTo(t, "10.0.0.1");
  const urls = [receiver.url("localhost"), "https://hooks.example.com/", "https://192.168.0.1/"];
  assert.deepEqual(await answersOf(t, urls, { allowLoopback: true }), [
    "200",
    "10.0.0.1 isn't a public address: private use",
    "192.168.0.1 isn't a public address",
  ]);
  assert.deepEqual(asked, ["hooks.example.com"]);
});
