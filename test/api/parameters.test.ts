import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import * as v from "valibot";
import { generateKey } from "../../server/accounts/keys.ts";
import { ApiError, echo, echoBare } from "../../server/api/errors.ts";
import { checkParameters, parseQuery } from "../../server/api/parameters.ts";
import { wholeNumber } from "../../server/shared/schemas.ts";
import { rounds } from "../support/rounds.ts";

/** Tests how well-formed and malformed queries are parsed, and which texts of a query an error repeats. */

const seed = 20_260_403;
const maxEchoed = 64;

/** undefined if the call throws nothing. Any error but an ApiError fails the test. */
function errorOf(call: () => unknown): ApiError | undefined {
  try {
    call();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  return undefined;
}

function assertInvalid(query: string, param?: string): void {
  const error = errorOf(() => parseQuery(query));
  assert.equal(error?.type, "invalid_parameter", JSON.stringify(query));
  if (param !== undefined) assert.equal(error?.param, param, JSON.stringify(query));
}

const text = fc
  .oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: "grapheme" }),
    fc.string({ unit: fc.constantFrom(..."&=+%;#?/ é🏥\ufffd\ufeff") }),
  )
  .map((given) => given.replaceAll(/\p{Cc}/gu, "").toWellFormed());
const values = fc
  .uniqueArray(fc.tuple(fc.oneof(text, fc.constantFrom("__proto__", "constructor", "q", "limit")), text), {
    selector: ([name]) => name,
    maxLength: 6,
  })
  .map((entries) => new Map(entries.map(([name, value]) => [name, value.replace(/^ +| +$/g, "")])));

describe("queries", () => {
  test("a query made by URLSearchParams is parsed back to its values", () => {
    const property = fc.property(values, (given) => {
      assert.deepEqual(parseQuery(new URLSearchParams([...given]).toString()), given);
    });
    fc.assert(property, { seed, numRuns: rounds(400) });
  });

  test("a query is parsed to the same values with minimal and with full escaping", () => {
    const escaped = (part: string) =>
      [...Buffer.from(part)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
    const property = fc.property(values, fc.constantFrom(encodeURIComponent, escaped), (given, encode) => {
      const query = Array.from(given, ([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
      assert.deepEqual(parseQuery(query), given);
    });
    fc.assert(property, { seed, numRuns: rounds(400) });
  });

  test("a query may have empty parts, names without =, = in values and + for spaces", () => {
    const read = (query: string) => Object.fromEntries(parseQuery(query));
    assert.deepEqual(read(""), {});
    assert.deepEqual(read("&&"), {});
    assert.deepEqual(read("a"), { a: "" });
    assert.deepEqual(read("a="), { a: "" });
    assert.deepEqual(read("&a=b&&c=d&"), { a: "b", c: "d" });
    assert.deepEqual(read("a=b=c"), { a: "b=c" });
    assert.deepEqual(read("a+b=+c%2Bd%20"), { "a b": "c+d" });
    assert.deepEqual(read("a=b;c=d"), { a: "b;c=d" });
    assert.deepEqual(read("A=1&a=2"), { A: "1", a: "2" });
  });

  test("an arbitrary query is parsed or refused as invalid_parameter", () => {
    const query = fc.oneof(
      fc.string({ unit: "binary", maxLength: 300 }),
      fc.string({ unit: fc.constantFrom(..."ab=&%+0fF2c\ufffd\u0000é"), maxLength: 60 }),
      fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)),
    );
    const property = fc.property(query, (given) => {
      const error = errorOf(() => parseQuery(given));
      if (error !== undefined) assert.equal(error.type, "invalid_parameter");
    });
    fc.assert(property, { seed, numRuns: rounds(1000) });
  });

  test("a query that names a parameter twice is refused, also with escaped names", () => {
    for (const query of ["a=1&a=2", "a=1&a=1", "a&a", "a=1&b=2&a", "%61=1&a=2", "a=1&%61=2", "&a&&a&"])
      assertInvalid(query, "a");
    assertInvalid("=1&=2", "");
    assertInvalid("a+b=1&a%20b=2", "a b");
    assertInvalid("__proto__=1&__proto__=2", "__proto__");
    const property = fc.property(values, fc.nat(), text, (given, at, more) => {
      fc.pre(given.size > 0);
      const entries = [...given];
      const [name] = entries[at % entries.length];
      const query = new URLSearchParams([...entries, [name, more]]).toString();
      assert.match(errorOf(() => parseQuery(query))?.message ?? "", /twice/);
    });
    fc.assert(property, { seed, numRuns: rounds(200) });
  });

  test("a query with a bad escape or bad UTF-8 is refused with the parameter's name", () => {
    const escapes = ["%", "%4", "%zz", "%G1", "%u0041", "% 41", "%\u0661", "%%"];
    const bytes = "%80 %c0%80 %c1%bf %e2%82 %ed%a0%80 %f4%90%80%80 %f8%88%80%80%80 %fe %ff".split(" ");
    for (const bad of [...escapes, ...bytes]) {
      for (const query of [`q=${bad}`, `a=b&q=x${bad}`, `q=${bad}&limit=1`]) assertInvalid(query, "q");
      assertInvalid(`q${bad}=1`);
      assertInvalid(bad);
    }
  });

  test("a query with a raw U+FFFD is refused, and an escaped one is text", () => {
    for (const query of ["q=\ufffd", "q=a\ufffdb", "\ufffd=1", "q=%EF%BF%BD\ufffd"]) assertInvalid(query);
    assert.equal(parseQuery("q=a%EF%BF%BDb").get("q"), "a\ufffdb");
  });

  test("a query with a control character in a name or value is refused", () => {
    const controls = [...Array(0x20).keys(), ...Array.from({ length: 0x21 }, (_, i) => 0x7f + i)];
    for (const code of controls) {
      const control = String.fromCharCode(code);
      for (const written of [control, encodeURIComponent(control)]) {
        assertInvalid(`q=a${written}b`, "q");
        assertInvalid(`q${written}=a`);
      }
    }
    for (const allowed of ["\u00a0", "\u2028", "\u200b", "\ufeff", "\u00ad"])
      assert.equal(parseQuery(`q=${encodeURIComponent(allowed)}`).get("q"), allowed);
  });
});

const schema = v.object({
  procedure: v.pipe(v.string(), v.nonEmpty()),
  sort: v.optional(v.picklist(["code", "name"], "one of code, name"), "code"),
  limit: v.optional(wholeNumber(1, 50), "25"),
});

describe("parameters", () => {
  const check = (query: string) => checkParameters(schema, parseQuery(query));
  const refused = (query: string) => {
    const error = errorOf(() => check(query));
    return error === undefined ? undefined : { type: error.type, param: error.param };
  };
  const invalid = (param: string) => ({ type: "invalid_parameter", param });
  const missing = (param: string) => ({ type: "missing_parameter", param });

  test("parameters get their defaults and types", () => {
    assert.deepEqual(check("procedure=5072"), { procedure: "5072", sort: "code", limit: 25 });
    assert.deepEqual(check("limit=50&procedure=x&sort=name"), { procedure: "x", sort: "name", limit: 50 });
  });

  test("an unknown parameter is reported before a missing one, with a list of the known ones", () => {
    for (const name of [
      "x",
      "Procedure",
      "limit ",
      "__proto__",
      "constructor",
      "toString",
      "hasOwnProperty",
    ]) {
      assert.deepEqual(refused(`${encodeURIComponent(name)}=1`), invalid(name));
      const { message } = errorOf(() => check(`procedure=1&${encodeURIComponent(name)}=1`)) ?? {};
      assert.match(message ?? "", /procedure, sort, limit/);
    }
    assert.deepEqual(refused("=1"), invalid(""));
    assert.deepEqual(refused("limit=0&x=1"), invalid("x"));
  });

  test("a required parameter counts as missing if it is absent or empty", () => {
    for (const query of ["", "procedure", "procedure=", "procedure=+", "limit=5", "procedure=&limit=5"])
      assert.deepEqual(refused(query), missing("procedure"), query);
  });

  test("a whole number must be plain decimal digits within a range that the message names", () => {
    const refusedNumbers = "0 51 -1 +1 1.0 1e1 0x1 NaN ٣ ９ 1_0 00 01 025 0007".split(" ");
    for (const written of [...refusedNumbers, "1 1", "", "9".repeat(400)]) {
      const query = `procedure=1&limit=${encodeURIComponent(written)}`;
      assert.deepEqual(refused(query), invalid("limit"), written);
      assert.match(errorOf(() => check(query))?.message ?? "", /1 to 50/, written);
    }
    for (const [written, limit] of [
      ["1", 1],
      ["50", 50],
    ] as const)
      assert.equal(check(`procedure=1&limit=${written}`).limit, limit);
  });

  test("arbitrary parameters are accepted or refused as missing or invalid", () => {
    const named = fc.dictionary(fc.oneof(fc.constantFrom("procedure", "sort", "limit"), text), text);
    const property = fc.property(named, (given) => {
      const error = errorOf(() => checkParameters(schema, new Map(Object.entries(given))));
      if (error !== undefined) assert.match(error.type, /^(missing|invalid)_parameter$/);
    });
    fc.assert(property, { seed, numRuns: rounds(400) });
  });
});

describe("input in error messages", () => {
  const marker = "ж";
  const shapes: ((input: string) => string)[] = [
    (input) => `${input}=1`,
    (input) => `${input}=1&${input}=2`,
    (input) => `procedure=1&sort=${input}`,
    (input) => `procedure=1&limit=${input}`,
    (input) => `procedure=1&${input}=${input}`,
    (input) => `q=${input}%`,
    (input) => `${input}%zz=${input}`,
    (input) => `${input}\u0007`,
    (input) => `q=${input}\u0085${input}`,
    (input) => `${input}\ufffd${input}=${input}`,
  ];
  const errorFor = (query: string) => errorOf(() => checkParameters(schema, parseQuery(query)));

  test("an error repeats at most 64 characters of the input", () => {
    for (const shape of shapes)
      for (const length of [1, 63, 64, 65, 1000]) {
        const error = errorFor(shape(marker.repeat(length)));
        assert.ok(error !== undefined);
        for (const said of [error.message, error.param ?? ""])
          assert.ok(said.split(marker).length - 1 <= maxEchoed, said);
      }
  });

  test("a text of more than 64 characters is cut to 64, before half a character, and what may be a key is masked", () => {
    const words = (length: number) => "ab ".repeat(30).slice(0, length);
    assert.equal(echoBare(words(64)), words(64));
    assert.equal(echoBare(words(65)), `${words(63)}…`);
    assert.equal(echoBare(`${words(62)}🏥🏥`), `${words(62)}…`);
    assert.equal(echoBare(`${words(61)}🏥🏥`), `${words(61)}🏥…`);
    assert.equal(echoBare(`a ${"x".repeat(39)}`), `a ${"x".repeat(39)}`);
    assert.equal(echoBare(`a ${"x-%_Y9".repeat(7)} b`), "a … b");
    assert.equal(echoBare("a HCQ_ b"), "a … b");
    assert.equal(echo('a"\u0085\u202e\u2028\u2066é'), String.raw`"a\"\u0085\u202e\u2028\u2066é"`);
  });

  test("an error that cuts a long text is well-formed Unicode", () => {
    for (const shape of shapes)
      for (let i = 60; i < 68; i++) {
        const error = errorFor(shape(`${"a".repeat(i)}🏥🏥🏥🏥`));
        assert.ok(error?.message.isWellFormed() && (error.param ?? "").isWellFormed());
      }
  });

  const key = generateKey(Buffer.alloc(32, 77));
  const secret = key.slice("hcq_".length);
  const leaks = (said: string) => said.includes(secret.slice(0, 16)) || said.includes(secret.slice(-16));

  test("an error never repeats an API key", () => {
    for (const shape of shapes)
      for (const written of [
        ...[key, `Bearer ${key}`, `${"a".repeat(30)}${key}`, `${key}${key}`, `x_${key}!`, key.toLowerCase()],
        ...[secret, secret.slice(-40)],
      ])
        for (const escaped of [written, encodeURIComponent(written)]) {
          const error = errorFor(shape(escaped));
          assert.ok(error !== undefined);
          for (const said of [error.message, error.param ?? ""])
            assert.ok(!leaks(said) && !leaks(said.toUpperCase()), `${shape(escaped)}: ${said}`);
        }
  });
});

test("spaces at either end of a value don't matter, and those inside it stay", () => {
  for (const [query, expected] of [
    ["a=%205072", "5072"],
    ["a=ca%20", "ca"],
    ["a=+5072+", "5072"],
    ["a=%20%205072%20%20", "5072"],
    ["a=San+Jose+", "San Jose"],
    ["a=+", ""],
    ["a=%20,b%20", ",b"],
  ])
    assert.equal(parseQuery(query).get("a"), expected, query);
  assert.throws(() => parseQuery("a=%09x"), /control character/);
});
