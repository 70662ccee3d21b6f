/** Every error the API gives: its stable type and its status. */
export const errorTypes = {
  missing_parameter: "400 Bad Request",
  invalid_parameter: "400 Bad Request",
  missing_api_key: "401 Unauthorized",
  invalid_api_key: "401 Unauthorized",
  not_found: "404 Not Found",
  unknown_endpoint: "404 Not Found",
  method_not_allowed: "405 Method Not Allowed",
  rate_limit_exceeded: "429 Too Many Requests",
  internal_error: "500 Internal Server Error",
} as const;

export type ErrorType = keyof typeof errorTypes;

/** A request that is answered with an error. The message is for people, and safe to show to the client. */
export class ApiError extends Error {
  readonly type: ErrorType;
  /** The parameter at fault, where there is one. */
  readonly param: string | undefined;

  constructor(type: ErrorType, message: string, param?: string) {
    super(message);
    this.name = "ApiError";
    this.type = type;
    this.param = param;
  }
}

/** The JSON body of an error. */
export function errorBody({ type, message, param }: Pick<ApiError, "type" | "message" | "param">): string {
  return JSON.stringify({ error: { type, message, ...(param === undefined ? {} : { param }) } });
}

const maxEchoLength = 64;

/** Input as an error message may repeat it: quoted, cut to 64 characters, and never an API key. */
export function echo(input: string): string {
  return JSON.stringify(echoBare(input));
}

/** The same without quotes, for the `param` field. */
export function echoBare(input: string): string {
  // Whatever is as long as a key's secret may be one, escaped or not.
  const masked = input.replace(/hcq_\w*|[0-9A-Za-z%]{40,}/gi, "…");
  return masked.length > maxEchoLength ? `${masked.slice(0, maxEchoLength - 1)}…`.toWellFormed() : masked;
}
