// Explains why a principal may, or may not, do something: the entries, groups and settings that give the permission.
import type { Api } from '../../core/api.ts';
import { authenticated, everyone, groupOf, membersOfGroup } from '../../core/principals.ts';
import type { Service } from '../../core/service.ts';
import { grantsOf, sourcesOf, type Level } from './rules.ts';

export interface Explanation {
  /** `unknown`: nothing visible gives the permission, but not everything is visible. */
  readonly answer: 'yes' | 'no' | 'unknown';
  readonly reasons: readonly string[];
}

/** Maximum number of groups whose members are read. */
const groupLimit = 50;

/** A principal that a user holds, and why. */
interface HeldPrincipal {
  readonly principal: string;
  /** Empty for the principal itself. */
  readonly why: string;
}

interface Principals {
  readonly held: readonly HeldPrincipal[];
  /** Groups whose members the caller cannot see. */
  readonly hiddenGroups: readonly string[];
}

export interface ExplainOptions {
  readonly api: Api;
  readonly service: Service;
  readonly levels: readonly Level[];
  readonly principal: string;
  readonly permission: string;
}

export async function explain({ api, service, levels, principal, permission }: ExplainOptions): Promise<Explanation> {
  const last = levels.at(-1);
  if (last === undefined) return { answer: 'unknown', reasons: [] };
  const isCaller = principal === service.userId;
  const { held, hiddenGroups } = isCaller
    ? { held: heldByCaller(service), hiddenGroups: [] }
    : await heldBy(api, levels, principal);
  const byEntry = held.flatMap((each) =>
    sourcesOf(levels, each.principal, permission).map(
      ({ level, entry }) => `The entry ${entry} of ${nameOf(level)} names ${each.principal}${each.why}.`,
    ),
  );
  const bySetting = isCaller ? reasonsOfHeld(levels, held, permission) : [];
  const reasons = [...byEntry, ...bySetting];
  if (reasons.length > 0) return { answer: 'yes', reasons };
  const hidden = levels.filter(({ permissions, held: known }) => permissions === undefined && !(isCaller && known));
  const unseen = [
    ...hidden.map((level) => `You cannot see the permissions of ${nameOf(level)}. They may give it.`),
    ...hiddenGroups.map((group) => `You cannot see the members of ${group}, which has the permission.`),
  ];
  const settings = `${last.kind}_${permission.includes(':create') ? 'write' : permission}_principals`;
  const note = `Settings of the service, such as ${settings}, can give it as well. Operators see them.`;
  const wanted = grantsOf(last.kind, permission)
    .map(({ kind, entry }) => `${entry} on the ${kind}`)
    .join(', ');
  const none = `No visible entry gives it. Any of these would: ${wanted}.`;
  const isSure = unseen.length === 0 && isCaller && levels.every(({ held: known }) => known !== undefined);
  if (isSure && last.kind !== 'record') return { answer: 'no', reasons: [none] };
  return { answer: unseen.length === 0 ? 'no' : 'unknown', reasons: [none, ...unseen, note] };
}

function nameOf({ kind, id }: Level): string {
  return `the ${kind} ${id}`;
}

/** The service reports all principals of the caller, groups included. */
function heldByCaller({ userId, principals }: Service): readonly HeldPrincipal[] {
  return principals.map((principal) => ({
    principal,
    why: principal === userId ? ' (you)' : whyOf(principal, 'you are'),
  }));
}

function whyOf(principal: string, who: string): string {
  if (principal === everyone) return ', which is every caller';
  if (principal === authenticated) return `, and ${who} signed in`;
  return groupOf(principal) === undefined ? '' : `, and ${who} a member of this group`;
}

/** Returns what a user other than the caller holds, as far as the groups with entries show their members. */
async function heldBy(api: Api, levels: readonly Level[], principal: string): Promise<Principals> {
  const itself = { principal, why: '' };
  if (principal === everyone) return { held: [itself], hiddenGroups: [] };
  const all = { principal: everyone, why: whyOf(everyone, '') };
  if (principal === authenticated || groupOf(principal) !== undefined) {
    const signedIn =
      principal === authenticated ? [] : [{ principal: authenticated, why: ', and members are signed in' }];
    return { held: [itself, all, ...signedIn], hiddenGroups: [] };
  }
  const named = new Set(levels.flatMap(({ permissions }) => [...(permissions?.values() ?? [])].flat()));
  const groups = [...named].filter((each) => groupOf(each) !== undefined).slice(0, groupLimit);
  const members = await Promise.all(groups.map((group) => membersOfGroup(api, group)));
  const memberships = groups.filter((_group, index) =>
    members[index]?.some((member) => member === principal || member === authenticated),
  );
  return {
    held: [
      itself,
      all,
      { principal: authenticated, why: whyOf(authenticated, 'the user is') },
      ...memberships.map((group) => ({ principal: group, why: whyOf(group, 'the user is') })),
    ],
    hiddenGroups: groups.filter((_group, index) => members[index] === undefined),
  };
}

/** Returns permissions that the service lists for the caller, and that no visible entry explains. */
function reasonsOfHeld(
  levels: readonly Level[],
  principals: readonly HeldPrincipal[],
  permission: string,
): readonly string[] {
  const kind = levels.at(-1)?.kind;
  if (kind === undefined) return [];
  return levels.flatMap((level) => {
    const entries = grantsOf(kind, permission).filter((grant) => grant.kind === level.kind);
    const explained = principals.some(({ principal }) =>
      entries.some(({ entry }) => level.permissions?.get(entry)?.includes(principal) === true),
    );
    if (explained) return [];
    const held = entries.map(({ entry }) => entry).filter((entry) => level.held?.includes(entry) === true);
    // `write` implies the other permissions.
    const strongest = held.includes('write') ? 'write' : held[0];
    if (strongest === undefined) return [];
    const from =
      level.permissions === undefined
        ? 'an entry that you cannot see, or a setting of the service'
        : 'a setting of the service, not from an entry';
    return [`You have ${strongest} on ${nameOf(level)} from ${from}.`];
  });
}
