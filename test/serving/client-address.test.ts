import assert from "node:assert/strict";
import { test } from "node:test";
import { clientAddress, clientOf } from "../../server/serving/client-address.ts";

for (const [address, client] of [
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["::FFFF:c000:201", "192.0.2.1"],
  ["0:0:0:0:0:ffff:192.0.2.1", "192.0.2.1"],
  ["::1", "0:0:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:DB8:1:2::", "2001:db8:1:2::/64"],
  ["2001:db8::2", "2001:db8:0:0::/64"],
  ["2001:db8:1::3:4:5:6", "2001:db8:1:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["1:2:3:4:5:6:192.0.2.1", "1:2:3:4::/64"],
  ["5.5.5.5:1001", "5.5.5.5"],
  ["5.5.5.5:", "5.5.5.5"],
  ["[5.5.5.5]:80", "5.5.5.5"],
  ["[2001:db8::1]:443", "2001:db8:0:0::/64"],
  ["[2001:db8::1]", "2001:db8:0:0::/64"],
  ["[::ffff:7.7.7.7]", "7.7.7.7"],
  ["::ffff:07.7.7.7", "unknown"],
  ["07.7.7.7", "unknown"],
  ["7.7.7.7:80:90", "unknown"],
  ["7.7.7", "unknown"],
  ["[", "unknown"],
  ["_hidden", "unknown"],
  ["client1.example.com", "unknown"],
  ["", "unknown"],
  ["unknown", "unknown"],
])
  test(`the client of address ${JSON.stringify(address)} is ${client}`, () => {
    assert.equal(clientOf(address), client);
  });

test("the client is found behind as many proxies as are trusted", () => {
  const [forwardedFor, address] = ["198.51.100.1, 203.0.113.1", "192.0.2.9"];
  assert.deepEqual(
    [0, 1, 2, 3].map((proxies) => clientAddress({ forwardedFor, address }, proxies)),
    [address, "203.0.113.1", "198.51.100.1", "unknown"],
  );
  assert.equal(clientAddress({ forwardedFor: "", address }, 1), address);
});
