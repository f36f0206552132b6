// The two principals that every deployment knows. All others (user ids, URIs of groups, names given out by a custom
// backend) are opaque text.

/** Every caller, authenticated or not. */
export const EVERYONE = 'system.Everyone';

/** Every authenticated caller. */
export const AUTHENTICATED = 'system.Authenticated';
