//! Medians and spread. No means: one run that the kernel interrupted would spoil them.

/// The middle of the sorted values, or of their middle two.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// How wide the middle half of the values is, as a share of their median: 0.1 means ±5 %.
pub fn spread(values: &[f64]) -> Option<f64> {
    let middle = quantile(values, 0.5).filter(|&middle| middle > 0.0)?;
    Some((quantile(values, 0.75)? - quantile(values, 0.25)?) / middle)
}

fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = share * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    Some(below + (above - below) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_one_bad_run() {
        assert_eq!(median(&[3.0, 900.0, 1.0, 2.0, 2.5]), Some(2.5));
        assert_eq!(median(&[4.0, 2.0]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_spread_is_relative() {
        assert_eq!(spread(&[10.0, 10.0, 10.0]), Some(0.0));
        assert_eq!(spread(&[90.0, 100.0, 110.0]), Some(0.1));
        assert_eq!(spread(&[]), None);
    }
}
