//! Data points of metrics, whatever their kind: what all kinds have in common.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::{Exemplar, Metric, metric::Data};

/// How many data points a metric has.
pub(super) fn count(metric: &Metric) -> usize {
    match &metric.data {
        Some(Data::Gauge(data)) => data.data_points.len(),
        Some(Data::Sum(data)) => data.data_points.len(),
        Some(Data::Histogram(data)) => data.data_points.len(),
        Some(Data::ExponentialHistogram(data)) => data.data_points.len(),
        Some(Data::Summary(data)) => data.data_points.len(),
        None => 0,
    }
}

/// What a data point of any kind has.
pub(super) struct Point<'a> {
    pub(super) attributes: &'a [KeyValue],
    /// When it was measured.
    pub(super) time: u64,
}

/// What of a data point of any kind may be changed.
pub(super) struct PointMut<'a> {
    pub(super) attributes: &'a mut Vec<KeyValue>,
    /// Its examples; a summary has none.
    pub(super) exemplars: Option<&'a mut Vec<Exemplar>>,
    /// When it was measured.
    pub(super) time: u64,
}

macro_rules! points {
    ($data:expr) => {
        Box::new($data.data_points.iter().map(|point| Point {
            attributes: &point.attributes,
            time: point.time_unix_nano,
        }))
    };
}

/// The data points of a metric.
pub(super) fn each(metric: &Metric) -> Box<dyn Iterator<Item = Point<'_>> + '_> {
    match &metric.data {
        Some(Data::Gauge(data)) => points!(data),
        Some(Data::Sum(data)) => points!(data),
        Some(Data::Histogram(data)) => points!(data),
        Some(Data::ExponentialHistogram(data)) => points!(data),
        Some(Data::Summary(data)) => points!(data),
        None => Box::new(std::iter::empty()),
    }
}

macro_rules! keep {
    ($points:expr, $keep:expr) => {
        $points.retain_mut(|point| {
            $keep(PointMut {
                attributes: &mut point.attributes,
                exemplars: Some(&mut point.exemplars),
                time: point.time_unix_nano,
            })
        })
    };
}

/// Keeps the data points that `keep`, which may change them, says yes to.
pub(super) fn retain(metric: &mut Metric, mut keep: impl FnMut(PointMut<'_>) -> bool) {
    match &mut metric.data {
        Some(Data::Gauge(data)) => keep!(data.data_points, keep),
        Some(Data::Sum(data)) => keep!(data.data_points, keep),
        Some(Data::Histogram(data)) => keep!(data.data_points, keep),
        Some(Data::ExponentialHistogram(data)) => keep!(data.data_points, keep),
        Some(Data::Summary(data)) => data.data_points.retain_mut(|point| {
            keep(PointMut {
                attributes: &mut point.attributes,
                exemplars: None,
                time: point.time_unix_nano,
            })
        }),
        None => {}
    }
}
