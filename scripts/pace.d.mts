export function measurePace(): number;
