// The state machine of source collections, row by row.
import { describe, expect, it } from 'vitest';
import { decide, type Decision, type StatusChange } from '../../../src/plugins/signer/review-status.ts';

const nobody = { isEditor: false, isReviewer: false, isRequester: false };

/** In a word: the step, or how it is refused. */
function outcome(change: Pick<StatusChange, 'from' | 'to' | 'isReviewed'> & Partial<StatusChange>): string {
  const decision: Decision = decide({ ...nobody, ...change });
  return decision.kind === 'step' ? decision.step : decision.kind;
}

const statuses = [undefined, 'work-in-progress', 'to-review', 'signed', 'to-sign', 'draft'] as const;

describe('Without reviews', () => {
  // From none, work-in-progress, to-review, signed, and two that are never stored by the plugin.
  it.each([
    ['work-in-progress', ['edit', 'edit', 'reject', 'edit', 'edit', 'edit']],
    ['to-review', ['invalid', 'requestReview', 'invalid', 'invalid', 'invalid', 'invalid']],
    ['to-sign', ['approve', 'approve', 'approve', 'invalid', 'approve', 'approve']],
    ['to-resign', ['resign', 'resign', 'resign', 'resign', 'resign', 'resign']],
    ['to-rollback', ['rollBack', 'rollBack', 'rollBack', 'invalid', 'rollBack', 'rollBack']],
    ['signed', ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
    ['anything', ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
    [undefined, ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
    [null, ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
    [1, ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
  ])('anybody who may write sets %s with these outcomes.', (to, expected) => {
    expect(statuses.map((from) => outcome({ from, to, isReviewed: false }))).toEqual(expected);
  });

  it('who has asked for a review may sign as well.', () => {
    expect(outcome({ from: 'to-review', to: 'to-sign', isReviewed: false, isRequester: true })).toBe('approve');
  });
});

describe('With reviews', () => {
  const all = { isReviewed: true, isEditor: true, isReviewer: true };

  it.each([
    ['work-in-progress', ['edit', 'edit', 'reject', 'edit', 'edit', 'edit']],
    ['to-review', ['invalid', 'requestReview', 'invalid', 'invalid', 'invalid', 'invalid']],
    ['to-sign', ['invalid', 'invalid', 'approve', 'invalid', 'invalid', 'invalid']],
    ['to-resign', ['resign', 'resign', 'resign', 'resign', 'resign', 'resign']],
    ['to-rollback', ['rollBack', 'rollBack', 'rollBack', 'invalid', 'rollBack', 'rollBack']],
    ['signed', ['invalid', 'invalid', 'invalid', 'invalid', 'invalid', 'invalid']],
  ])('members of both groups set %s with these outcomes.', (to, expected) => {
    expect(statuses.map((from) => outcome({ ...all, from, to }))).toEqual(expected);
  });

  it('only editors ask for reviews.', () => {
    const change = { from: 'work-in-progress', to: 'to-review', isReviewed: true };
    expect(outcome({ ...change, isEditor: true })).toBe('requestReview');
    expect(outcome({ ...change, isReviewer: true })).toBe('forbidden');
  });

  it('only reviewers sign, and not what they have asked to be reviewed.', () => {
    const change = { from: 'to-review', to: 'to-sign', isReviewed: true };
    expect(outcome({ ...change, isReviewer: true })).toBe('approve');
    expect(outcome({ ...change, isEditor: true })).toBe('forbidden');
    expect(outcome({ ...change, isReviewer: true, isRequester: true })).toBe('forbidden');
  });

  it('those who may not do it learn nothing of the status.', () => {
    expect(outcome({ from: 'signed', to: 'to-sign', isReviewed: true })).toBe('forbidden');
    expect(outcome({ from: 'signed', to: 'to-review', isReviewed: true })).toBe('forbidden');
  });

  it('everybody who may write rejects, signs again and rolls back.', () => {
    expect(outcome({ from: 'to-review', to: 'work-in-progress', isReviewed: true })).toBe('reject');
    expect(outcome({ from: 'to-review', to: 'to-resign', isReviewed: true })).toBe('resign');
    expect(outcome({ from: 'to-review', to: 'to-rollback', isReviewed: true })).toBe('rollBack');
  });
});
