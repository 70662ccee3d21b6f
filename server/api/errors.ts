/** Every error that the API gives, and what a client reads of it. */

/** A header that comes with an error, beside those of every reply. */
interface ErrorHeader {
  name: string;
  description: string;
  /** Null where the reply says it: the seconds to wait, or the file's size. */
  value: string | null;
  pattern?: string;
}

interface ErrorKind {
  status: string;
  when: string;
  /** Whether the same request may be sent again. */
  retry: string;
  headers?: readonly ErrorHeader[];
}

const authenticate = { name: "WWW-Authenticate", description: "The scheme to use.", value: "Bearer" };
const allow = { name: "Allow", description: "The methods there are.", value: "GET, HEAD" };
const contentRange = {
  name: "Content-Range",
  description: "The file's size.",
  value: null,
  pattern: "^bytes \\*/[0-9]+$",
};
const retryAfter = {
  name: "Retry-After",
  description: "Seconds to wait; up to a month's where the quota is used up.",
  value: null,
};

const tableOf = <Type extends string>(kinds: Readonly<Record<Type, ErrorKind>>) => kinds;

/** By type, which is stable. */
export const errors = tableOf({
  missing_parameter: {
    status: "400 Bad Request",
    when: "A required parameter is absent or empty.",
    retry: "no",
  },
  invalid_parameter: {
    status: "400 Bad Request",
    when: "A parameter is unknown, repeated, malformed, out of range or not recognised.",
    retry: "no",
  },
  missing_api_key: {
    status: "401 Unauthorized",
    when: "There is no `Authorization` header, or it has another scheme than Bearer.",
    retry: "no",
    headers: [authenticate],
  },
  invalid_api_key: {
    status: "401 Unauthorized",
    when: "The key is malformed, unknown, revoked or expired, or its account is suspended or deleted.",
    retry: "no",
    headers: [authenticate],
  },
  not_found: {
    status: "404 Not Found",
    when: "The endpoint is right, and there is no data for these arguments; the message says why.",
    retry: "when the data is expected to appear",
  },
  unknown_endpoint: {
    status: "404 Not Found",
    when: "There is no such path; a parameter in the path is empty, or has a slash that isn't escaped.",
    retry: "no",
  },
  method_not_allowed: {
    status: "405 Method Not Allowed",
    when: "The method is another than GET and HEAD.",
    retry: "no",
    headers: [allow],
  },
  range_not_satisfiable: {
    status: "416 Range Not Satisfiable",
    when: "The `Range` has no byte of the file.",
    retry: "no",
    headers: [contentRange],
  },
  rate_limit_exceeded: {
    status: "429 Too Many Requests",
    when: "A ceiling of the account is reached; `ceiling` says which.",
    retry: "by its `ceiling`: see Keys and limits",
    headers: [retryAfter],
  },
  internal_error: {
    status: "500 Internal Server Error",
    when: "The service failed. The request doesn't count.",
    retry: "with exponential back-off: from 1 s, doubling up to 30 s, at most 5 times",
  },
});

export type ErrorType = keyof typeof errors;

interface CeilingKind {
  when: string;
  /** What X-RateLimit-Reset says. */
  reset: string;
  /** What a client does then. */
  action: string;
}

const kindsOf = <Name extends string>(kinds: Readonly<Record<Name, CeilingKind>>) => kinds;

/** The ceilings that a 429 may be about, by the value of `ceiling`. */
export const reachedCeilings = kindsOf({
  burst: {
    when: "The account's requests per second are used up.",
    reset: "the second from which a request is accepted",
    action: "Wait `Retry-After` seconds, and back off if it goes on.",
  },
  quota: {
    when: "The account's requests per month are used up.",
    reset: "the start of the next UTC month",
    action:
      "Stop until then, or ask for a larger plan. Don't retry in a loop: `Retry-After` may be many days.",
  },
  lease: {
    when: "The quota isn't used up, but this server can't give out any of it at the moment: other servers hold the rest, or the server's clock was set and it is reading the month's count.",
    reset: "the second from which it is worth asking again",
    action: "Wait `Retry-After` seconds, and back off if it goes on.",
  },
});

export type ReachedCeiling = keyof typeof reachedCeilings;

/** A request that is answered with an error. The message is for people, and safe to show to the client. */
export class ApiError extends Error {
  readonly type: ErrorType;
  /** The parameter at fault, where there is one. */
  readonly param: string | undefined;
  /** The ceiling that is reached, on a 429. */
  readonly ceiling: ReachedCeiling | undefined;

  constructor(type: ErrorType, message: string, param?: string, ceiling?: ReachedCeiling) {
    super(message);
    this.name = "ApiError";
    this.type = type;
    this.param = param;
    this.ceiling = ceiling;
  }
}

/** What the errors say that always say the same. */
const messages = {
  missing_api_key: 'an API key is required: send the header "Authorization: Bearer <API key>"',
  invalid_api_key: "the API key isn't valid",
  range_not_satisfiable: "the range has no byte of the file: Content-Range says how long it is",
  internal_error: "the request failed; try again",
};

export const constantError = (type: keyof typeof messages) => new ApiError(type, messages[type]);

/** The JSON body of an error. */
export function errorBody({ type, message, param, ceiling }: ApiError): string {
  // What is undefined is left out.
  return JSON.stringify({ error: { type, message, param, ceiling } });
}

const maxEchoLength = 64;

/** Those that JSON leaves as they are: the rest of the controls, and what begins a line or turns its direction. */
const controls = /[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

/** Input as an error message may repeat it: quoted, cut to 64 characters, controls escaped, and never an API key. */
export function echo(input: string): string {
  return JSON.stringify(echoBare(input)).replace(
    controls,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The same without quotes, for the `param` field. */
export function echoBare(input: string): string {
  const masked = withoutKeys(input);
  if (masked.length <= maxEchoLength) return masked;
  // The first half of a pair stays with the second.
  const cut = masked.slice(0, maxEchoLength - 1).replace(/[\ud800-\udbff]$/, "");
  return `${cut}…`.toWellFormed();
}

/** A text without keys and tokens, escaped or not: what is as long as a secret in base62 or base64url may be one. */
export function withoutKeys(text: string): string {
  return text.replace(/hcq_[\w%-]*|[\w%-]{40,}/gi, "…");
}
