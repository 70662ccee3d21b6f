/**
 * Requests per second (`burst`) and per month (`quota`) by plan; undefined if the accounts have their own numbers. The
 * plan `portal` is for the account that visitors without a key share.
 */
export const plans = {
  free: { burst: 10, quota: 10_000 },
  developer: { burst: 50, quota: 1_000_000 },
  startup: { burst: 200, quota: 10_000_000 },
  business: { burst: 500, quota: 50_000_000 },
  enterprise: undefined,
  portal: { burst: 100, quota: 100_000 },
} as const;

export const planNames = Object.keys(plans) as (keyof typeof plans)[];

/** Maximum accounts of a server, including those deleted since its start. Each has a slot in shared memory. */
export const maxAccounts = 1_000_000;
/** The largest rate of an account in requests per second, because a token bucket counts in 32-bit integers. */
export const maxBurst = 1_000_000;
/** The largest quota of an account in requests per month, because the counters have 32 bits. */
export const maxQuota = 2_000_000_000;

/** Limits of one address that uses the key of all visitors. */
export interface ShareLimits {
  /** Requests per second that refill the address's bucket; 0 for no limit. */
  perSecond: number;
  /** Requests per UTC day; 0 for no limit. */
  perDay: number;
}
