// Accounts as rows of a list, and the requests that change them.
import type { Api } from '../../core/api.ts';
import { accountPath } from '../../core/accounts.ts';
import { displayText, memberText, previewText, withoutMembers } from '../../core/json-text.ts';

export interface Account {
  readonly id: string;
  readonly etag: string;
  /** Whether the account may log in. */
  readonly isEnabled: boolean;
  /** Its attributes without the password, shortened. */
  readonly summary: string;
  readonly lastModified: string | undefined;
}

export function readAccount(row: string): Account {
  const lastModified = memberText(row, 'last_modified');
  const others = withoutMembers(row, ['id', 'last_modified', 'password', 'validated']);
  return {
    id: displayText(memberText(row, 'id') ?? '""'),
    etag: `"${lastModified ?? ''}"`,
    isEnabled: memberText(row, 'validated') !== 'false',
    summary: others === '{}' ? '' : previewText(others, 120),
    lastModified,
  };
}

/** Bytes of a generated password. */
const passwordBytes = 15;

/** Returns a random password of letters, digits, `-` and `_`. */
export function generatePassword(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(passwordBytes));
  return btoa(String.fromCodePoint(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_');
}

export async function setPassword(api: Api, id: string, password: string): Promise<void> {
  await api.request('PATCH', accountPath(id), { body: JSON.stringify({ data: { password } }) });
}

/** Sets whether an account may log in. The service refuses accounts that are not `validated`. */
export async function setEnabled(api: Api, { id, etag }: Account, isEnabled: boolean): Promise<void> {
  const body = JSON.stringify({ data: { validated: isEnabled } });
  await api.request('PATCH', accountPath(id), { body, headers: { 'If-Match': etag } });
}

export async function deleteAccount(api: Api, { id, etag }: Account): Promise<void> {
  await api.request('DELETE', accountPath(id), { headers: { 'If-Match': etag } });
}
