// Who may stand in an access-control entry: the two principals every deployment knows, and the URIs of groups. All
// other principals (user ids, names given out by a custom backend) are opaque text.

/** Every caller, authenticated or not. */
export const EVERYONE = 'system.Everyone';

/** Every authenticated caller. */
export const AUTHENTICATED = 'system.Authenticated';

const groupUri = /^\/buckets\/[^/]+\/groups\/[^/]+$/;

/** Whether the principal is the URI of a group, `/buckets/{bucket_id}/groups/{group_id}`. */
export function isGroupUri(principal: string): boolean {
  return groupUri.test(principal);
}
