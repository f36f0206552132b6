// The review state machine of source collections, row by row.
import { describe, expect, it } from 'vitest';
import { decide, type Decision, type StatusChange } from '../../../src/plugins/signer/review-status.ts';

const noMembership = { isEditor: false, isReviewer: false, isRequester: false };

/** Returns the step, or the kind of refusal. */
function outcome(change: Pick<StatusChange, 'from' | 'to' | 'isReviewed'> & Partial<StatusChange>): string {
  const decision: Decision = decide({ ...noMembership, ...change });
  return decision.kind === 'step' ? decision.step : decision.kind;
}

const statuses = [undefined, 'work-in-progress', 'to-review', 'signed', 'to-sign', 'draft'] as const;

describe('Without reviews', () => {
  // From no status, work-in-progress, to-review, signed, and two that the plugin never stores.
  it.each([
    ['work-in-progress', ['edit', 'edit', 'reject', 'edit', 'edit', 'edit']],
    ['to-review', statuses.map(() => 'requestReview')],
    ['to-sign', ['approve', 'approve', 'approve', 'invalid', 'approve', 'approve']],
    ['to-resign', ['resign', 'resign', 'resign', 'resign', 'resign', 'resign']],
    ['to-rollback', ['rollBack', 'rollBack', 'rollBack', 'invalid', 'rollBack', 'rollBack']],
    ['signed', ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
    ['anything', ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
    [undefined, ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
    [null, ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
    [1, ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
  ])('any writer sets %s with these outcomes.', (to, expected) => {
    expect(statuses.map((from) => outcome({ from, to, isReviewed: false }))).toEqual(expected);
  });

  it('the requester of a review can sign.', () => {
    expect(outcome({ from: 'to-review', to: 'to-sign', isReviewed: false, isRequester: true })).toBe('approve');
  });
});

describe('With reviews', () => {
  const all = { isReviewed: true, isEditor: true, isReviewer: true };

  it.each([
    ['work-in-progress', ['edit', 'edit', 'reject', 'edit', 'edit', 'edit']],
    ['to-review', statuses.map(() => 'requestReview')],
    ['to-sign', ['invalid', 'invalid', 'approve', 'invalid', 'invalid', 'invalid']],
    ['to-resign', ['resign', 'resign', 'resign', 'resign', 'resign', 'resign']],
    ['to-rollback', ['rollBack', 'rollBack', 'rollBack', 'invalid', 'rollBack', 'rollBack']],
    ['signed', ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
  ])('members of both groups set %s with these outcomes.', (to, expected) => {
    expect(statuses.map((from) => outcome({ ...all, from, to }))).toEqual(expected);
  });

  it('only editors request reviews.', () => {
    const change = { from: 'work-in-progress', to: 'to-review', isReviewed: true };
    expect(outcome({ ...change, isEditor: true })).toBe('requestReview');
    expect(outcome({ ...change, isReviewer: true })).toBe('forbidden');
  });

  it('only reviewers sign, except their own review requests.', () => {
    const change = { from: 'to-review', to: 'to-sign', isReviewed: true };
    expect(outcome({ ...change, isReviewer: true })).toBe('approve');
    expect(outcome({ ...change, isEditor: true })).toBe('forbidden');
    expect(outcome({ ...change, isReviewer: true, isRequester: true })).toBe('forbidden');
  });

  it('callers without the required group do not learn the current status.', () => {
    expect(outcome({ from: 'signed', to: 'to-sign', isReviewed: true })).toBe('forbidden');
    expect(outcome({ from: 'signed', to: 'to-review', isReviewed: true })).toBe('forbidden');
  });

  it('any writer rejects, signs again and rolls back.', () => {
    expect(outcome({ from: 'to-review', to: 'work-in-progress', isReviewed: true })).toBe('reject');
    expect(outcome({ from: 'to-review', to: 'to-resign', isReviewed: true })).toBe('resign');
    expect(outcome({ from: 'to-review', to: 'to-rollback', isReviewed: true })).toBe('rollBack');
  });
});
