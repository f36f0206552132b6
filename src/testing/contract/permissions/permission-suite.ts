// The permission contract as cases. A backend that passes them all may be used by the service.
import type { PermissionCase } from '../contract-case.ts';
import { entryCases } from './entries.ts';
import { hostileTextCases } from './hostile.ts';
import { membershipCases } from './memberships.ts';
import { pagingCases } from './paging.ts';
import { questionCases } from './questions.ts';

/** Each case wants an empty store of its own. */
export const permissionCases: readonly PermissionCase[] = [
  ...membershipCases,
  ...entryCases,
  ...questionCases,
  ...pagingCases,
  ...hostileTextCases,
];
