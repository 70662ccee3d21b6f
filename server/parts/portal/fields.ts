import * as v from "valibot";
import { ApiError, echo, echoBare } from "../../api/errors.ts";

export function invalid(param: string, found: string, expected: string): ApiError {
  return new ApiError("invalid_parameter", `${param} is ${found}, expected ${expected}`, { param });
}

/**
 * Parses a request's body and checks its fields.
 * @throws ApiError when the body isn't a JSON object, or a field is missing, unknown or invalid
 */
export function readFields<Entries extends v.ObjectEntries>(
  schema: v.StrictObjectSchema<Entries, undefined>,
  body: string,
): v.InferOutput<typeof schema> {
  const given = objectIn(body);
  const names = Object.keys(schema.entries);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new ApiError(
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
    throw new ApiError("missing_parameter", `the field ${param} is required`, { param });
  throw invalid(param, described(value), issue.message);
}

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
  throw new ApiError("invalid_parameter", "the body isn't a JSON object");
}
