import assert from "node:assert/strict";
import { Resolver } from "node:dns/promises";
import { stat } from "node:fs";
import { createServer, isIPv4, isIPv6 } from "node:net";
import { type TestContext, test } from "node:test";
import { storedWebhookFault, webhookFault } from "../../../server/accounts/webhook-url.ts";
import { post } from "../../../server/parts/notifications/post.ts";
import { reachOf } from "../../../server/shared/special-addresses.ts";
import { run } from "../../support/commands.ts";
import { listening } from "../../support/connection.ts";
import { answersOf, Receiver } from "../../support/quota-events.ts";
import { temporaryFolder } from "../../support/server.ts";

/** First addresses of special-purpose address space and of public address space, in turn. */
const bounds = {
  IPv4: [
    "0.0.0.0 1.0.0.0 10.0.0.0 11.0.0.0 100.64.0.0 100.128.0.0 127.0.0.0 128.0.0.0 168.63.129.16 168.63.129.17",
    "169.254.0.0 169.255.0.0 172.16.0.0 172.32.0.0 192.0.0.0 192.0.1.0 192.0.2.0 192.0.3.0 192.31.196.0",
    "192.31.197.0 192.52.193.0 192.52.194.0 192.88.99.0 192.88.100.0 192.168.0.0 192.169.0.0 192.175.48.0",
    "192.175.49.0 198.18.0.0 198.20.0.0 198.51.100.0 198.51.101.0 203.0.113.0 203.0.114.0 224.0.0.0",
  ],
  IPv6: [
    ":: 2000:: 2001:: 2001:200:: 2001:db8:: 2001:db9:: 2002:: 2003:: 2620:4f:8000:: 2620:4f:8001:: 3fff:: 3fff:1000::",
    "4000::",
  ],
};

function ipv4Number(address: string): bigint {
  return address.split(".").reduce((number, byte) => number * 256n + BigInt(byte), 0n);
}

function ipv4Text(number: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join(".");
}

function ipv6Number(address: string): bigint {
  const groups = address.replace("::", "").split(":");
  return groups.reduce(
    (number, group, i) => number + (BigInt(`0x${group || 0}`) << BigInt(16 * (7 - i))),
    0n,
  );
}

function ipv6Text(number: bigint): string {
  return Array.from({ length: 8 }, (_, i) => ((number >> BigInt(16 * (7 - i))) & 0xffffn).toString(16)).join(
    ":",
  );
}

const isPublic = (address: string) => reachOf(address) === "public";

for (const [family, numberOf, textOf, bits] of [
  ["IPv4", ipv4Number, ipv4Text, 32n],
  ["IPv6", ipv6Number, ipv6Text, 128n],
] as const)
  test(`the first and last address of each ${family} range are public or special as in the IANA registries`, () => {
    const firsts = bounds[family].join(" ").split(" ");
    for (const [i, first] of firsts.entries()) {
      const end = i + 1 < firsts.length ? numberOf(firsts[i + 1]) : 1n << bits;
      assert.ok(numberOf(first) < end, first);
      for (const address of [first, textOf(numberOf(first)), textOf(end - 1n)])
        for (const form of family === "IPv4" ? [address, `::ffff:${address}`] : [address])
          assert.equal(isPublic(form), i % 2 === 1, form);
    }
  });

test("loopback addresses are recognised, and special IPv6 addresses aren't public", () => {
  for (const address of "127.0.0.0 127.255.255.255 ::1 ::ffff:7f00:1 ::ffff:127.0.0.1".split(" "))
    assert.equal(reachOf(address), "loopback", address);
  const others =
    ":: ::2 ::ffff:0:0:0 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b:1:: 100:: 100:0:0:1:: 2001:20:: 5f00:: fc00:: fe80:: fec0:: ff00:: 126.255.255.255 128.0.0.0";
  for (const address of others.split(" ")) assert.notEqual(reachOf(address), "loopback", address);
  for (const address of others.split(" ").slice(0, -2)) assert.equal(reachOf(address), "special", address);
});

test("addresses of cloud metadata services aren't public", () => {
  const services =
    "169.254.169.254 fd00:ec2::254 100.100.100.200 192.0.0.192 168.63.129.16 fe80::a9fe:a9fe%eth0";
  for (const address of services.split(" ")) assert.ok(!isPublic(address), address);
});

test("text that isn't an IP address throws a RangeError", () => {
  for (const text of ["nonsense", "10.0.0", "", "1.1.1.1 ", "localhost"])
    assert.throws(() => reachOf(text), {
      name: "RangeError",
      message: `found ${text}, expected an IP address`,
    });
});

test("a webhook URL with a non-public address is rejected in any notation", () => {
  const hosts =
    "0 127.1 0x7f000001 0x7f.0.0.1 2130706433 017700000001 0177.1 127.0.0.1. 0x7f.1. 10.1 0xa9fea9fe 2852039166 [::ffff:7f00:1] [0:0::1] [::ffff:192.168.0.1] [64:ff9b::a00:1] [64:ff9b:1::1] [::ffff:0:127.0.0.1] [3fff::1] [5f00::1] 198.19.0.1 １２７.1";
  for (const host of hosts.split(" "))
    assert.equal(webhookFault(`https://${host}/`, false), "a public address", host);
  assert.equal(webhookFault("https://hooks.example.com/", false), undefined);
  const longest = "https://hooks.example.com/".padEnd(2000, "x");
  assert.equal(webhookFault(longest, false), undefined);
  assert.equal(webhookFault(`${longest}x`, false), "a URL");
});

test("a new webhook URL with a raw # is rejected, and a stored one goes on", () => {
  for (const end of ["#", "#x", "?a=b#c", "a#b/c?d"]) {
    assert.equal(webhookFault(`https://hooks.example.com/${end}`, false), "a URL without #: write %23", end);
    assert.equal(storedWebhookFault(`https://hooks.example.com/${end}`, false), undefined, end);
  }
  assert.equal(webhookFault("https://hooks.example.com/a%23b", false), undefined);
});

test("a webhook URL whose host name can't be public is rejected when it is set", async () => {
  const hosts =
    "localhost LOCALHOST localhost. a.localhost printer printer. printer.local a.b.LOCAL. metadata.google.internal nas.home.arpa router.lan wiki.corp a.home b.intranet c.private ｌocalhost local" +
    " localhost.localdomain a.localdomain localdomain4.localdomain. a.invalid INVALID. a.b.test test a.onion a.alt. x.LOCALHOST" +
    ` a..com .com example.com.. ${"a".repeat(64)}.com ${"a.".repeat(126)}com`;
  for (const host of hosts.split(" ")) {
    assert.equal(webhookFault(`https://${host}/`, false), "a public address", host);
    assert.equal(webhookFault(`https://user@${host}/`, false), "a URL without a user name or password", host);
    const isAllowed = /localhost\.?$/i.test(host) || host === "ｌocalhost";
    assert.equal(webhookFault(`https://${host}/`, true), isAllowed ? undefined : "a public address", host);
    assert.equal(storedWebhookFault(`https://${host}/`, true), undefined, `a stored ${host}`);
  }
  for (const host of "local.example.com localhost.example.com internal.io home.arpa.example c.example example.com. test.example mytest.com xn--p1ai.xn--p1ai".split(
    " ",
  ))
    assert.equal(webhookFault(`https://${host}/`, false), undefined, host);
  for (const host of "c.example localhost 127.0.0.1 [::1] 8.8.8.8".split(" "))
    for (const allowLoopback of [true, false])
      for (const port of ["0", "00"])
        assert.equal(webhookFault(`https://${host}:${port}/x`, allowLoopback), "a public address", host);
  const folder = temporaryFolder();
  const [made, changed, local] = await run(folder, [
    "keys create --account a --plan free --webhook https://localhost/",
    "keys create --account a --plan free --webhook https://example.com/",
    "keys update --account a --webhook https://nas.local/",
  ]);
  const expected = "expected a public address\n";
  assert.equal(made.stderr, `--webhook is "https://localhost/", ${expected}`);
  assert.equal(changed.code, 0);
  assert.equal(local.stderr, `--webhook is "https://nas.local/", ${expected}`);
});

/** Answers each look-up with the next list of addresses, or else the last list. @returns the hosts looked up */
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
  ["10.0.0.1", "10.0.0.1 isn't a public address"],
  ["1.1.1.1 169.254.169.254", "169.254.169.254 isn't a public address"],
  ["1.1.1.1 ::ffff:a00:1", "::ffff:a00:1 isn't a public address"],
  ["64:ff9b::7f00:1", "64:ff9b::7f00:1 isn't a public address"],
  ["127.0.0.1", "127.0.0.1 isn't a public address"],
] as const)
  test(`a webhook host that resolves to ${addresses} gets no connection`, async (t) => {
    const asked = resolveTo(t, addresses);
    const urls = ["https://hooks.example.com/", "https://hooks.example.com./", "https://localhost./"];
    const answers = await answersOf(t, urls, { allowLoopback: false });
    assert.deepEqual(answers, [refusal, refusal, refusal]);
    assert.equal(asked.length, 3);
  });

test("a host is resolved once per attempt, and the connection goes to the checked address", async (t) => {
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

test("an attempt fails with a reason if the host has no addresses", async (t) => {
  resolveTo(t, "");
  const answers = await answersOf(t, ["https://hooks.example.com/"], { allowLoopback: false });
  assert.deepEqual(answers, ["no address of hooks.example.com"]);
});

test("without the loopback setting, webhooks don't reach this machine by any notation of its address", async (t) => {
  const receiver = await Receiver.open();
  const { port } = new URL(receiver.url());
  const addresses =
    "127.0.0.1 127.0.0.1. 0x7f.1 0x7f.1. 2130706433 017700000001 [::1] [::ffff:127.0.0.1] [::ffff:7f00:1]";
  const hosts = [...addresses.split(" "), "localhost", "LOCALHOST"];
  const urls = [receiver.url(), ...hosts.map((host) => `https://${host}:${port}/`)];
  const [plain, ...answers] = await answersOf(t, urls, { allowLoopback: false });
  assert.match(plain ?? "", /isn't an https URL$/);
  for (const [i, host] of hosts.entries())
    assert.match(answers[i] ?? "", /^\S+ isn't a public address$/, host);
  assert.equal(receiver.posts.length, 0);
});

test("with the loopback setting, webhooks reach localhost but no other non-public address", async (t) => {
  const receiver = await Receiver.open();
  const asked = resolveTo(t, "10.0.0.1");
  const urls = [receiver.url("localhost"), "https://hooks.example.com/", "https://192.168.0.1/"];
  assert.deepEqual(await answersOf(t, urls, { allowLoopback: true }), [
    "200",
    "10.0.0.1 isn't a public address",
    "192.168.0.1 isn't a public address",
  ]);
  assert.deepEqual(asked, ["hooks.example.com"]);
});

test("a slow connection isn't abandoned for the host's next address", async () => {
  const receiver = await Receiver.open();
  const stand = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  const posted = new Promise((resolve, reject) => {
    stat(".", () => {
      const { signal } = new AbortController();
      post(receiver.url("localhost"), Buffer.from("{}"), {}, { allowLoopback: true }, signal).then(
        resolve,
        reject,
      );
    });
    // This callback blocks the thread after the post has begun, before the thread learns that the connection is open.
    stat(".", () => stand(500));
    // Blocks the thread until the calls of `stat` are done. So their callbacks run one directly after the other.
    stand(50);
  });
  assert.equal(await posted, 200);
});
