// The address of accounts, and their creation, which the sign-in page offers too.
import type { Api } from './api.ts';

export function accountPath(id: string): string {
  return `accounts/${encodeURIComponent(id)}`;
}

export async function createAccount(api: Api, id: string, password: string): Promise<void> {
  const { status } = await api.request('PUT', accountPath(id), {
    body: JSON.stringify({ data: { password } }),
    // Never overwrites an existing account.
    headers: { 'If-None-Match': '*' },
    allowed: [412],
  });
  if (status === 412) throw new Error('An account with this name already exists.');
}
