// The permission contract as cases. The service may use any backend that passes them.
import type { PermissionCase } from '../contract-case.ts';
import { entryCases } from './entries.ts';
import { hostileTextCases } from './hostile.ts';
import { membershipCases } from './memberships.ts';
import { pagingCases } from './paging.ts';
import { questionCases } from './questions.ts';

/** Each case needs an empty store of its own. */
export const permissionCases: readonly PermissionCase[] = [
  ...membershipCases,
  ...entryCases,
  ...questionCases,
  ...pagingCases,
  ...hostileTextCases,
];
