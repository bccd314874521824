// hiddenSentence says that something was left out, without saying what.
export function hiddenSentence(count: number): string {
  return count === 1
    ? "1 item is hidden here because it is personal data."
    : `${count.toLocaleString()} items are hidden here because they are personal data.`;
}
