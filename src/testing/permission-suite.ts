// The permission contract as cases. A backend that passes them all may be used by the service.
import type { PermissionCase } from './contract-case.ts';
import { entryCases } from './permissions/entries.ts';
import { hostileTextCases } from './permissions/hostile.ts';
import { membershipCases } from './permissions/memberships.ts';
import { pagingCases } from './permissions/paging.ts';
import { questionCases } from './permissions/questions.ts';

/** Each case wants an empty store of its own. */
export const permissionCases: readonly PermissionCase[] = [
  ...membershipCases,
  ...entryCases,
  ...questionCases,
  ...pagingCases,
  ...hostileTextCases,
];
