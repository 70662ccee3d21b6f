import * as v from "valibot";
import { echo, echoBare } from "../../api/errors.ts";
import type { PortalReply } from "../../shared/messages.ts";

/** Requests that aren't done, in the API's form of an error, and how fields are read. */

type Type =
  | "missing_parameter"
  | "invalid_parameter"
  | "missing_api_key"
  | "invalid_api_key"
  | "forbidden"
  | "signup_closed"
  | "not_found"
  | "unknown_endpoint"
  | "conflict"
  | "rate_limit_exceeded"
  | "internal_error"
  | "unavailable";

const statusOf: Record<Type, number> = {
  missing_parameter: 400,
  invalid_parameter: 400,
  missing_api_key: 401,
  invalid_api_key: 401,
  forbidden: 403,
  signup_closed: 403,
  not_found: 404,
  unknown_endpoint: 404,
  conflict: 409,
  rate_limit_exceeded: 429,
  internal_error: 500,
  unavailable: 503,
};

/** A request that isn't done. The message is for people, and safe to show to them. */
export class Refusal extends Error {
  readonly reply: PortalReply;

  constructor(type: Type, message: string, more: { param?: string; headers?: Record<string, string> } = {}) {
    super(message);
    const { param, headers } = more;
    this.reply = {
      status: statusOf[type],
      body: { error: { type, message, ...(param === undefined ? {} : { param }) } },
      ...(headers === undefined ? {} : { headers }),
    };
  }
}

export function tooMany(message: string, seconds: number): Refusal {
  return new Refusal("rate_limit_exceeded", `${message}; retry in ${seconds} s`, {
    headers: { "Retry-After": String(seconds) },
  });
}

export function invalid(param: string, found: string, expected: string): Refusal {
  return new Refusal("invalid_parameter", `${param} is ${found}, expected ${expected}`, { param });
}

/**
 * Reads a body: a JSON object with the fields of a schema and no others.
 *
 * @throws Refusal when it isn't
 */
export function readFields<Entries extends v.ObjectEntries>(
  schema: v.StrictObjectSchema<Entries, undefined>,
  body: string,
): v.InferOutput<typeof schema> {
  const given = objectIn(body);
  const names = Object.keys(schema.entries);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new Refusal(
      "invalid_parameter",
      `the field ${echo(unknown)} isn't known, expected ${names.length === 0 ? "none" : `no other than ${names.join(", ")}`}`,
      { param: echoBare(unknown) },
    );
  const parsed = v.safeParse(schema, given, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const param = v.getDotPath(issue) ?? "";
  const value: unknown = new Map(Object.entries(given)).get(param);
  if (value === undefined)
    throw new Refusal("missing_parameter", `the field ${param} is required`, { param });
  throw invalid(param, described(value), issue.message);
}

/** A JSON value, as a message names it. */
function described(value: unknown): string {
  if (typeof value === "string") return echo(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

function objectIn(body: string): object {
  let given: unknown;
  try {
    given = JSON.parse(body);
  } catch {
    given = undefined;
  }
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given;
  throw new Refusal("invalid_parameter", "the body isn't a JSON object");
}
