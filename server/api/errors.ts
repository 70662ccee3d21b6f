import type { Absent } from "../../engine/query.ts";

/** The API's errors: a table with each error's status and headers. */

interface ErrorHeader {
  name: string;
  description: string;
  /** The header's value; null if it differs from error to error. */
  value: string | null;
  pattern?: string;
}

interface StatusOfError {
  status: string;
  headers?: readonly ErrorHeader[];
}

interface DocumentedError extends StatusOfError {
  when: string;
  /** Whether and when the same request may be sent again. */
  retry: string;
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
  description: "Seconds to wait. If the quota is used up, they reach to the end of the month.",
  value: null,
};

const documented = {
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
    when: "There is no `Authorization` header, or its scheme isn't Bearer.",
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
    when: "The endpoint exists, but there is no data for these arguments; the message says why.",
    retry: "when the data is expected to appear",
  },
  unknown_endpoint: {
    status: "404 Not Found",
    when: "There is no such path, or a parameter in the path is empty or has an unescaped slash.",
    retry: "no",
  },
  method_not_allowed: {
    status: "405 Method Not Allowed",
    when: "The method isn't GET or HEAD.",
    retry: "no",
    headers: [allow],
  },
  precondition_failed: {
    status: "412 Precondition Failed",
    when: "`If-Match` has no ETag of the file as it is now.",
    retry: "without `If-Match`, from the file's start",
  },
  range_not_satisfiable: {
    status: "416 Range Not Satisfiable",
    when: "The `Range` is outside the file.",
    retry: "no",
    headers: [contentRange],
  },
  rate_limit_exceeded: {
    status: "429 Too Many Requests",
    when: "A ceiling of the account is reached; `ceiling` says which.",
    retry: "depends on `ceiling`: see Keys and limits",
    headers: [retryAfter],
  },
  internal_error: {
    status: "500 Internal Server Error",
    when: "The service failed. The request doesn't count.",
    retry: "yes, and back off: see Keys and limits",
  },
  service_unavailable: {
    status: "503 Service Unavailable",
    headers: [retryAfter],
    when: "The service can't count requests at the moment. The request doesn't count.",
    retry: "yes, and back off: see Keys and limits",
  },
} satisfies Record<string, DocumentedError>;

/** The API's errors by type. Types are stable. */
export const apiErrors: Readonly<Record<keyof typeof documented, DocumentedError>> = documented;

export type ApiErrorType = keyof typeof apiErrors;

/** The errors of the API and the portal, by type. */
export const errors = {
  ...apiErrors,
  forbidden: { status: "403 Forbidden" },
  signup_closed: { status: "403 Forbidden" },
  conflict: { status: "409 Conflict" },
  body_too_large: { status: "413 Content Too Large" },
  unsupported_media_type: { status: "415 Unsupported Media Type" },
} satisfies Record<string, StatusOfError>;

export type ErrorType = keyof typeof errors;

export const backOff =
  "To back off, wait 1 s and a random part of a second before the second attempt, and double the wait with each further one, up to 30 s. Wait longer if `Retry-After` says so. Make at most five attempts in all.";

/** What a 429 may be about, by the value of `ceiling`. `reset` describes the time in X-RateLimit-Reset. */
export const reachedCeilings = {
  burst: {
    when: "The account's requests per second are used up.",
    reset: "the second from which a request is accepted",
    action: "Wait `Retry-After` seconds, and back off.",
  },
  quota: {
    when: "The account's requests per month are used up.",
    reset: "the start of the next UTC month",
    action:
      "Stop until then, or ask for a larger plan. Don't retry in a loop: `Retry-After` may be many days.",
  },
};

export type ReachedCeiling = keyof typeof reachedCeilings;

interface Candidate {
  code: string;
  name: string;
}

interface ErrorDetails {
  param?: string;
  ceiling?: ReachedCeiling;
  candidates?: readonly Candidate[];
  /** What `near` may mean: cities, or a ZIP code with its leading zeros. */
  places?: readonly { near: string }[];
  /** What the words ask for and this data can't have. */
  absent?: readonly Absent[];
  /** The seconds to wait or the file's size, for a header without a value in the table. */
  header?: number | string;
}

/** An error response. The message is for people, and safe to show to the client. */
export class ApiError extends Error {
  readonly type: ErrorType;
  readonly param: string | undefined;
  readonly ceiling: ReachedCeiling | undefined;
  readonly candidates: readonly Candidate[] | undefined;
  readonly places: readonly { near: string }[] | undefined;
  readonly absent: readonly Absent[] | undefined;
  readonly #header: number | string | undefined;

  constructor(
    type: ErrorType,
    message: string,
    { param, ceiling, candidates, places, absent, header }: ErrorDetails = {},
  ) {
    super(message);
    this.name = "ApiError";
    this.type = type;
    this.param = param;
    this.ceiling = ceiling;
    this.candidates = candidates;
    this.places = places;
    this.absent = absent;
    this.#header = header;
  }

  /** The status line's code and phrase, such as `404 Not Found`. */
  get status(): string {
    return errors[this.type].status;
  }

  /** Headers in addition to the headers of every reply. */
  get headers(): { name: string; value: number | string }[] {
    const { headers = [] }: StatusOfError = errors[this.type];
    return headers.flatMap(({ name, value }) => {
      const own = value ?? this.#header;
      return own === undefined ? [] : [{ name, value: own }];
    });
  }

  get body() {
    const { type, message, param, ceiling, candidates, places, absent } = this;
    // JSON leaves out undefined fields.
    return { error: { type, message, param, ceiling, candidates, places, absent } };
  }
}

const messages = {
  missing_api_key: 'an API key is required: send the header "Authorization: Bearer <API key>"',
  invalid_api_key: "the API key isn't valid",
  internal_error: "the request failed; try again",
};

export const constantError = (type: keyof typeof messages) => new ApiError(type, messages[type]);

const maxEchoLength = 64;

/** Control characters that JSON doesn't escape, line separators, and most characters that change the text's direction. */
const controls = /[\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g;

/** Makes input safe for an error message: masks API keys, cuts it to 64 characters, quotes and escapes it. */
export function echo(input: string): string {
  return JSON.stringify(echoBare(input)).replace(
    controls,
    (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Makes input safe for an error's `param`: cuts it to 64 characters, and masks API keys. */
export function echoBare(input: string): string {
  const masked = withoutKeys(input);
  if (masked.length <= maxEchoLength) return masked;
  // Cuts before a surrogate pair instead of splitting it.
  const cut = masked.slice(0, maxEchoLength - 1).replace(/[\ud800-\udbff]$/, "");
  return `${cut}…`.toWellFormed();
}

/** Masks API keys, and possible other secrets: 40 or more letters, digits, `_`, `-` and `%` in a row. */
export function withoutKeys(text: string): string {
  return text.replace(/hcq_[\w%-]*|[\w%-]{40,}/gi, "…");
}
