// Principals: what their texts mean, hints about unknown ones, and suggestions while one is typed.
import type { Api } from './api.ts';
import { displayText, elementsOf, memberText } from './json-text.ts';
import { findObject, loadPage } from './objects.ts';
import type { Place } from './places.ts';
import type { Service } from './service.ts';

export const everyone = 'system.Everyone';
export const authenticated = 'system.Authenticated';
const wellKnown = new Set([everyone, authenticated]);
/** Maximum number of principals of a form that are checked. */
export const maxChecked = 50;
/** Maximum number of groups, and of accounts, that are suggested. */
const suggested = 10;

/** Returns why the text cannot be a principal, judging only by its form; `undefined` for a known form. */
export function faultOfForm(principal: string, service: Service): string | undefined {
  if (wellKnown.has(principal) || principal === service.userId) return undefined;
  if (principal.startsWith('system.')) return 'is neither system.Everyone nor system.Authenticated';
  if (principal.startsWith('/')) {
    return groupOf(principal) === undefined ? 'is not the URI of a group (/buckets/…/groups/…)' : undefined;
  }
  const prefix = /^([^:]+):./.exec(principal)?.[1];
  if (prefix === undefined) return 'lacks the prefix of user ids, such as account:zoe';
  if (!prefixesOf(service).has(prefix)) return `has a prefix that no sign-in of this service uses (${prefix}:)`;
  if (prefix === 'basicauth' && !/^basicauth:[\da-f]{64}$/.test(principal)) {
    return 'is not a Basic user id (64 hexadecimal digits)';
  }
  return undefined;
}

/** Returns the prefixes of user ids that the service is known to have. */
function prefixesOf({ capabilities, providers, userId }: Service): ReadonlySet<string> {
  return new Set([
    ...(capabilities.has('basicauth') ? ['basicauth'] : []),
    ...(capabilities.has('accounts') ? ['account'] : []),
    ...providers.map(({ name }) => name),
    ...(userId === undefined ? [] : [userId.slice(0, userId.indexOf(':'))]),
    // Plugins act as users of this form.
    'plugin',
  ]);
}

/** Returns the bucket and the id of the group that a principal names. */
export function groupOf(principal: string): { readonly bucket: string; readonly group: string } | undefined {
  const [, bucket, group] = /^\/buckets\/([^/]+)\/groups\/([^/]+)$/.exec(principal) ?? [];
  return bucket === undefined || group === undefined ? undefined : { bucket, group };
}

/** Returns the path of the group below the API. */
export function groupPathOf(principal: string): string | undefined {
  const names = groupOf(principal);
  if (names === undefined) return undefined;
  return `buckets/${encodeURIComponent(names.bucket)}/groups/${encodeURIComponent(names.group)}`;
}

/** Returns why a principal is unknown, such as `names a group that does not exist`; `undefined` without a doubt. */
export type PrincipalCheck = (principal: string) => Promise<string | undefined>;

/** Returns a check of principals, as far as the caller may read them. Results are cached for the lifetime of the view. */
export function principalCheck(api: Api, service: Service): PrincipalCheck {
  const known = new Map<string, Promise<string | undefined>>();
  const findMissing = async (path: string, what: string): Promise<string | undefined> => {
    const { status } = await api.request('HEAD', path, { allowed: [400, 401, 403, 404] });
    return status === 404 ? `names ${what} that does not exist` : undefined;
  };
  const find = async (principal: string): Promise<string | undefined> => {
    const fault = faultOfForm(principal, service);
    if (fault !== undefined) return fault;
    const group = groupPathOf(principal);
    if (group !== undefined) return findMissing(group, 'a group');
    if (!service.capabilities.has('accounts') || !principal.startsWith('account:')) return undefined;
    return findMissing(`accounts/${encodeURIComponent(principal.slice('account:'.length))}`, 'an account');
  };
  return (principal) => {
    let fault = known.get(principal);
    if (fault === undefined) {
      // No hint when the check fails.
      fault = find(principal).catch(() => undefined);
      known.set(principal, fault);
    }
    return fault;
  };
}

export interface Suggestion {
  readonly principal: string;
  /** What it means, such as `group` or `account`. */
  readonly note: string;
}

/** Principals that are possible: all, those that can be members of a group, or those that can make a change. */
export type Among = 'all' | 'members' | 'authors';

export interface SuggestOptions {
  /** What was typed; a part of an id. */
  readonly text: string;
  /** The object that the principal is for: groups of its bucket are suggested. */
  readonly place: Place;
  readonly among: Among;
  /** Principals that are suggested as well, such as those with entries. */
  readonly known: readonly string[];
  readonly signal: AbortSignal;
}

/** Returns principals that contain the text: the user, everyone, groups of the bucket, and accounts. */
export async function suggestPrincipals(
  api: Api,
  service: Service,
  { text, place, among, known, signal }: SuggestOptions,
): Promise<readonly Suggestion[]> {
  const fixed: readonly Suggestion[] = [
    ...(service.userId === undefined ? [] : [{ principal: service.userId, note: 'you' }]),
    ...(among === 'all' ? [{ principal: everyone, note: 'everyone, also without a sign-in' }] : []),
    among === 'authors'
      ? { principal: 'null', note: 'anonymous users' }
      : { principal: authenticated, note: 'everyone signed in' },
  ];
  const idsOf = async (path: string, part: string): Promise<readonly string[]> => {
    const query = new URLSearchParams({ _limit: String(suggested), _sort: 'id', _fields: 'id' });
    if (part !== '') query.set('like_id', part);
    // What the user may not list is not suggested.
    const page = await loadPage(api, path, query, signal).catch(() => undefined);
    return (page?.rows ?? []).slice(0, suggested).map((row) => displayText(memberText(row, 'id') ?? '""'));
  };
  const bucket = place[0]?.id;
  const bucketId = bucket === 'default' ? (service.personalBucket ?? bucket) : bucket;
  const [groups, accounts] = await Promise.all([
    bucketId === undefined || among !== 'all'
      ? []
      : idsOf(`buckets/${encodeURIComponent(bucketId)}/groups`, text.slice(text.lastIndexOf('/') + 1)),
    service.capabilities.has('accounts') && service.userId !== undefined
      ? idsOf('accounts', text.replace(/^account:/, ''))
      : [],
  ]);
  const wanted = text.toLowerCase();
  const named: readonly Suggestion[] = [
    ...groups.map((id) => ({ principal: `/buckets/${bucketId ?? ''}/groups/${id}`, note: 'group of this bucket' })),
    ...accounts.map((id) => ({ principal: `account:${id}`, note: 'account' })),
  ];
  const all = [
    ...fixed.filter(({ principal, note }) => `${principal} ${note}`.toLowerCase().includes(wanted)),
    ...named,
    ...known
      .filter((principal) => principal.toLowerCase().includes(wanted))
      .slice(0, suggested)
      .map((principal) => ({ principal, note: 'has an entry' })),
  ];
  return all.filter(({ principal }, index) => all.findIndex((each) => each.principal === principal) === index);
}

/** Maximum number of members of one group that are searched. */
const membersLimit = 10_000;

/** Returns the members of a group; `undefined` when the caller may not read it, or it does not exist. */
export async function membersOfGroup(api: Api, principal: string): Promise<readonly string[] | undefined> {
  const path = groupPathOf(principal);
  if (path === undefined) return undefined;
  const group = await findObject(api, path).catch(() => undefined);
  const members = group === undefined ? undefined : memberText(group.data, 'members');
  if (members?.startsWith('[') !== true) return undefined;
  return elementsOf(members).slice(0, membersLimit).map(displayText);
}
